"""One thread and fixed random numbers, so that results do not depend on the machine or the order,
nor on its speed. In CI nothing is skipped for want of a package or of data.

torch is not imported here: the tests of the modules that do without it should too.
"""

import contextlib
import gc
import importlib
import os
import signal
import sys
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# Which has the processes that tests start run the code of this checkout.
import tests.checkout

# Tests of what the core and plug-ins do together. Where plug-ins are deleted (`make core`), the
# others must pass.
TOGETHER = (
    "eval",
    "gpu/test_training.py",
    "models/test_piece_encoder.py",
    "reranker/checkpoints/test_unigram_pieces.py",
    "reranker/commands/test_languages.py",
    "reranker/commands/test_treebanks.py",
    "reranker/plugins",
    "reranker/scoring/test_every_architecture.py",
    "reranker/test_objects.py",
    "reranker/test_public_formats.py",
    "service/http/test_languages.py",
    "service/page/test_text.py",
)
# Files that share servers, which each of pytest's workers starts for itself: one worker runs all
# files of a row.
SHARING_SERVERS = (
    ("tests/service/children/", "tests/service/requests/test_bounds", "tests/service/test_"),
    ("tests/service/http/", "tests/service/page/", "tests/service/requests/"),
)
HAS_PLUGINS = (tests.checkout.ROOT / "reranker" / "plugins").is_dir()
collect_ignore = () if HAS_PLUGINS else TOGETHER


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out single tests that need plug-ins, where these are deleted."""
    if not HAS_PLUGINS:
        others = [each for each in items if each.get_closest_marker("plugins")]
        config.hook.pytest_deselected(items=others)
        items[:] = [each for each in items if not each.get_closest_marker("plugins")]


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import this worker's share of the test files before it collects all of them: pytest keeps
    what it has compiled, and without that every worker would compile every file."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        worker = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
        folders = filter(Path.is_dir, map(Path, session.config.args))
        found = {file.resolve() for folder in folders for file in folder.rglob("test_*.py")}
        ignored = {file for each in collect_ignore for file in _files(each)}
        own = [each for each in found - ignored if each.is_relative_to(tests.checkout.ROOT)]
        for file in sorted(own)[worker::workers]:
            name = ".".join(file.relative_to(tests.checkout.ROOT).with_suffix("").parts)
            # What fails does so again when it is collected, and is reported then.
            with contextlib.suppress(Exception, pytest.skip.Exception):
                importlib.import_module(name)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out whole files, as ``--dist loadfile`` does, and together those that share servers."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByServers(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            rows = (row for row in SHARING_SERVERS if nodeid.startswith(row))
            return next(map(str, rows), super()._split_scope(nodeid))

    return ByServers(config, log)


def _files(name: str) -> Iterable[Path]:
    """Return a file of this folder, or the files of one of its folders."""
    path = tests.checkout.ROOT / "tests" / name
    return path.rglob("*.py") if path.is_dir() else [path]


# Without bytecode, as under PYTHONDONTWRITEBYTECODE, each of the hundreds of processes that tests
# start would compile the whole package again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Two files are tested at once, and many start processes: threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Programs that a shell starts with & ignore Ctrl-C, and so would those that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile(
    "any machine",
    deadline=None,
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("any machine")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keep the garbage collector off the modules and items, which live until the end: a seventh of
    the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """Find what is garbage now, once: pytest looks for it ten times."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _reproducible() -> None:
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
        torch.manual_seed(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _skip_nothing_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _skip_nothing_in_ci(report)
    return report


def _skip_nothing_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Fail in CI instead of skipping, unless the reason, "this machine ...", is a machine's
    limit."""
    if report.skipped and os.environ.get("CI") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not reason.startswith("this machine"):
            report.outcome = "failed"
            report.longrepr = f"skipped, which nothing is in CI: {reason}"
