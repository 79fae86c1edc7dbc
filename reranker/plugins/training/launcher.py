"""``rerank train --nproc N``: torch's elastic launcher starts N processes here, ends them together
and, if one dies, restarts all of them, a few times."""

from __future__ import annotations

import logging
import signal
import tempfile
import uuid
from dataclasses import replace
from typing import Any

from torch.distributed.elastic.multiprocessing.api import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from reranker.commands.endings import ending
from reranker.commands.progress import MessageHandler, message
from reranker.errors import ConfigError, InputError, RerankError
from reranker.plugins.training import worker
from reranker.plugins.training.loop.settings import LESS_MEMORY, TrainSettings
from reranker.plugins.training.processes import are_launched, own_gpu

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def launch(settings: TrainSettings) -> int:
    """Train in ``settings.nproc`` processes; return the exit code.

    Raises RerankError if processes die more often than ``settings.restarts`` allows, and for
    mistakes that can be found before any process is started.
    """
    count = settings.nproc or 1
    if are_launched():
        raise InputError(
            "--nproc: a launcher has already started this process; torchrun has --nproc-per-node"
        )
    worker.output(settings)
    config = worker.configuration(settings, count)
    if config.shards < count:
        raise ConfigError(f"--nproc {count}, but shards is {config.shards}: each has to have one")
    if settings.device.startswith("cuda"):
        own_gpu(settings.device, 0, count)
    # Those that are ignored, as SIGHUP is under nohup, stay so.
    handled = [each.name for each in _ENDING if signal.getsignal(each) != signal.SIG_IGN]
    folder = tempfile.TemporaryDirectory(prefix="rerank-")  # for tracebacks
    launched = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=count,
        run_id=str(uuid.uuid4()),
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",  # any free port
        local_addr="localhost",
        logs_specs=DefaultLogsSpecs(log_dir=folder.name),
        max_restarts=settings.restarts,
        signals_to_handle=",".join(handled),
    )
    logger = logging.getLogger("torch.distributed.elastic.multiprocessing.api")
    messages = _Messages(count, settings.restarts)
    logger.addFilter(messages)
    for name in ("torch.multiprocessing", "torch.distributed"):
        logging.getLogger(name).setLevel(logging.ERROR)
    alone = replace(settings, nproc=None)
    try:
        with folder:
            codes: dict[int, int] = elastic_launch(launched, _work)(alone)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise RerankError(
            f"{_end(rank, count, failure.exitcode)}; "
            f"the same command resumes from the last state in {settings.folder}"
        ) from error
    except SignalException as error:
        raise KeyboardInterrupt from error
    finally:
        logger.removeFilter(messages)
    return max(codes.values())


def _work(settings: TrainSettings) -> int:
    """Do the work of one process; return its exit code. A user's mistake does not count as a
    failure here, after which all would be restarted, nor does lack of memory."""
    for number in _ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    logging.basicConfig(
        format="rerank: %(message)s", level=logging.INFO, handlers=[MessageHandler()]
    )
    logging.getLogger("torch").setLevel(logging.WARNING)
    try:
        return worker.run(settings)
    except Exception as error:
        code, text = ending(error, LESS_MEMORY)
    message(f"rerank: {text}")
    return code


class _Messages(logging.Filter):
    """A filter that rephrases torch's log entries about a dead process."""

    def __init__(self, count: int, restarts: int) -> None:
        super().__init__()
        self.count, self.restarts, self.deaths = count, restarts, 0

    def filter(self, record: logging.LogRecord) -> bool:
        if not str(record.msg).startswith("failed (exitcode"):
            return record.levelno >= logging.ERROR
        self.deaths += 1
        arguments: Any = record.args
        code, rank = arguments[:2]
        if self.deaths <= self.restarts:
            again = f"starting all again ({self.deaths} of at most {self.restarts} times)"
            message(f"rerank: {_end(rank, self.count, code)}; {again}")
        return bool(code >= 0)  # with the traceback of the process


def _end(rank: int, count: int, code: int) -> str:
    """Describe how a process ended; a negative ``code`` is the signal that killed it."""
    name = f"process {rank} of {count}"
    if code >= 0:
        return f"{name} failed"
    number = -code
    known = {each.value: each.name for each in signal.Signals}
    return f"{name} was killed by {known.get(number, f'signal {number}')}"
