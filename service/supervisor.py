"""``--workers N``: several processes behind one address, and the parent that looks after them.

The parent opens the listening socket and its children inherit it: whoever has time takes the next
connection. With SO_REUSEPORT the kernel would deal connections out by chance, also to a process
that is stuck or loading, and those dealt to one that dies would be lost.

All processes serve the same models. To start or to reload, each of them loads and tries them out
and says what it has found; only if all have found the same does the parent tell all to switch.

uvicorn has a supervisor too. On SIGHUP it replaces one process after the other, so that models
that cannot be loaded are noticed with some already replaced, and nobody can be told; it waits
without limit for processes that hang at the end, and restarts without a pause what crashes.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Collection
from multiprocessing import resource_tracker

import structlog
from prometheus_client.multiprocess import mark_process_dead

from reranker.errors import RerankError
from reranker.service.server import listening, log_address
from reranker.service.settings import Settings
from reranker.service.supervised import work

_LOGGER = structlog.get_logger("rerank.supervisor")

# After what is left of the drain time, a worker is killed; ending ourselves takes a moment too.
_KILL_SECONDS = 1.25
_HURRY_SECONDS = 0.5
# The pause before a restart doubles each time, up to this.
_LONGEST_PAUSE_SECONDS = 30.0
# Who has lived so long did not crash because of how it starts.
_HEALTHY_SECONDS = 60.0

_SPAWN = multiprocessing.get_context("spawn")
_TERMINAL = {signal.SIGINT, signal.SIGHUP}


def supervise(settings: Settings) -> int:
    """Serve with several processes until SIGTERM; returns the exit code.

    Raises RerankError if the models cannot be loaded or the address is taken.
    """
    with listening(settings) as listener, _counters() as folder:
        log_address(listener)
        asyncio.run(_Supervisor(settings, listener, folder).run())
    return 0


def _counters() -> tempfile.TemporaryDirectory[str]:
    """A private folder for the metrics of all; in memory, since the disk may be read-only."""
    memory = "/dev/shm"
    try:
        folder = memory if os.access(memory, os.W_OK) else None
        return tempfile.TemporaryDirectory(prefix="rerank-", dir=folder, ignore_cleanup_errors=True)
    except OSError as error:
        message = f"several workers need a temporary folder for their metrics: {error.strerror}"
        raise RerankError(message) from error


class _Failed(Exception):
    """A worker did not do what it was told; the message says why."""


class _Worker:
    """A process, as its parent sees it."""

    def __init__(
        self,
        number: int,
        settings: Settings,
        listener: socket.socket,
        folder: str,
        is_replacement: bool,
        asked_to_reload: Callable[[_Worker], None],
    ) -> None:
        self.number = number
        self.is_serving = False
        self.started = time.monotonic()
        self.ended = asyncio.Event()
        self._settings, self._asked_to_reload = settings, asked_to_reload
        self._replies: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._connection, theirs = _SPAWN.Pipe()
        arguments = (settings, number, listener, theirs, folder, is_replacement)
        self._process = _SPAWN.Process(target=work, args=arguments, daemon=True)
        # What a terminal sends to all processes is for the parent alone; masks are inherited.
        signal.pthread_sigmask(signal.SIG_BLOCK, _TERMINAL)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _TERMINAL)
        theirs.close()
        asyncio.get_running_loop().add_reader(self._connection.fileno(), self._receive)

    def _receive(self) -> None:
        try:
            what, value = self._connection.recv()
        except (EOFError, OSError):
            asyncio.get_running_loop().remove_reader(self._connection.fileno())
            self._connection.close()
            self.is_serving = False
            self._process.join(1)  # its files are closed last
            self._replies.put_nowait(("failed", f"worker {self.number} ended"))
            self.ended.set()
            return
        if what == "reload":
            self._asked_to_reload(self)
        else:
            self._replies.put_nowait((what, value))

    def tell(self, order: str, value: str | None = None) -> None:
        with contextlib.suppress(OSError):  # it has ended
            self._connection.send((order, value))

    async def reply(self) -> str:
        """Raises _Failed if the worker cannot do what it was told, or ends."""
        seconds = self._settings.max_request_seconds
        try:
            what, value = await asyncio.wait_for(self._replies.get(), seconds)
        except TimeoutError:
            self.kill()
            what, value = "failed", f"worker {self.number} did not answer within {seconds:g} s"
        if what in ("failed", "no-memory"):
            raise _Failed(value) from (MemoryError() if what == "no-memory" else None)
        return value

    @property
    def exit_status(self) -> int | None:
        return self._process.exitcode

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


class _Supervisor:
    def __init__(self, settings: Settings, listener: socket.socket, folder: str) -> None:
        self._settings, self._listener, self._folder = settings, listener, folder
        self._workers: dict[int, _Worker] = {}
        self._served = ""
        """The fingerprint of the models in use."""
        self._switching = asyncio.Lock()
        self._asked_to_end = asyncio.Event()
        self._kill_at = float("inf")  # by time.monotonic()
        self._reloads: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until a signal; raises RerankError if the models cannot be loaded at the start."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ask_to_end)
        loop.add_signal_handler(signal.SIGHUP, self._ask_to_reload)
        # A child that starts searches no working directory for Python's modules.
        os.environ["PYTHONSAFEPATH"] = "1"
        resource_tracker.ensure_running()  # it would undo the mask of the first worker
        serving = asyncio.create_task(self._serve())
        # Its error is raised below, or another one is: asyncio need not report it.
        serving.add_done_callback(lambda task: task.cancelled() or task.exception())
        asked = asyncio.create_task(self._asked_to_end.wait())
        try:
            await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (serving, asked, *self._reloads):
                task.cancel()
            await self._end()
        with contextlib.suppress(asyncio.CancelledError):
            await serving

    async def _serve(self) -> None:
        async with self._switching:
            workers = [self._start(number + 1, False) for number in range(self._settings.workers)]
            try:
                found = await asyncio.gather(*(worker.reply() for worker in workers))
                self._served = _same(found)
            except _Failed as error:
                raise RerankError(str(error)) from error
            await self._switch(workers)
        _LOGGER.info("all workers ready", workers=len(workers))
        await asyncio.gather(*(self._keep(number) for number in self._workers))

    def _start(self, number: int, is_replacement: bool) -> _Worker:
        worker = self._workers[number] = _Worker(
            number,
            self._settings,
            self._listener,
            self._folder,
            is_replacement,
            self._ask_to_reload,
        )
        return worker

    async def _switch(self, workers: Collection[_Worker]) -> None:
        """Let these use what they have loaded."""
        for worker in workers:
            worker.tell("switch")
        for worker in workers:
            with contextlib.suppress(_Failed):  # it will be restarted
                await worker.reply()
                worker.is_serving = True

    async def _keep(self, number: int) -> None:
        """Restart the worker whenever it ends."""
        pause = 0.5
        while True:
            worker = self._workers[number]
            await worker.ended.wait()
            mark_process_dead(number, self._folder)  # type: ignore[no-untyped-call]
            _LOGGER.error("a worker ended", worker=number, status=worker.exit_status)
            is_healthy = time.monotonic() - worker.started > _HEALTHY_SECONDS
            pause = 1.0 if is_healthy else min(2 * pause, _LONGEST_PAUSE_SECONDS)
            await asyncio.sleep(pause)
            await self._replace(number)

    async def _replace(self, number: int) -> None:
        worker = self._start(number, True)
        try:
            found = await worker.reply()
            async with self._switching:
                others_serve = any(other.is_serving for other in self._workers.values())
                if others_serve and found != self._served:
                    raise _Failed("the files have changed since the others loaded them")
                self._served = found
                await self._switch([worker])
        except _Failed as error:
            _LOGGER.error("a worker cannot be restarted", worker=number, message=str(error))
            worker.kill()

    def _ask_to_reload(self, asking: _Worker | None = None) -> None:
        task = asyncio.create_task(self._reload(asking))
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    async def _reload(self, asking: _Worker | None) -> None:
        """In all workers that serve or, if one of them cannot, in none."""
        async with self._switching:
            workers = [worker for worker in self._workers.values() if worker.is_serving]
            reason: str | None = None
            try:
                self._served = await self._load_in(workers)
                await self._switch(workers)
                _LOGGER.info("all workers reloaded", workers=len(workers))
            except _Failed as error:
                reason = str(error)
                for worker in workers:
                    worker.tell("discard")
                _LOGGER.error("no worker reloaded", message=reason)
        for worker in workers[:1]:
            worker.tell("count", "failed" if reason else "done")
        if asking is not None:
            asking.tell("reloaded", reason)

    async def _load_in(self, workers: Collection[_Worker]) -> str:
        """One after the other, so that the rest go on at full speed; returns the fingerprint."""
        found = []
        for worker in workers:
            worker.tell("load")
            found.append(await worker.reply())
        return _same(found)

    def _ask_to_end(self) -> None:
        seconds = self._settings.drain_seconds + _KILL_SECONDS
        if self._asked_to_end.is_set():  # second signal
            seconds = _HURRY_SECONDS
            for worker in self._workers.values():
                worker.tell("hurry")
        self._kill_at = min(self._kill_at, time.monotonic() + seconds)
        self._asked_to_end.set()

    async def _end(self) -> None:
        """End all workers, in time whatever they do."""
        if not self._asked_to_end.is_set():
            self._ask_to_end()
        workers = self._workers.values()
        for worker in workers:
            worker.terminate()
        while not all(worker.ended.is_set() for worker in workers):
            await asyncio.sleep(0.02)
            if time.monotonic() > self._kill_at:
                for worker in workers:
                    worker.kill()
                _LOGGER.warning("killed workers that did not end")
                break


def _same(found: Collection[str]) -> str:
    """Raises _Failed if workers have loaded different models."""
    if len(set(found)) != 1:
        raise _Failed("the files changed while they were loaded" if found else "no worker runs")
    return next(iter(found))
