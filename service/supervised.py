"""One of several server processes, and what it says to the parent that looks after it.

It does not import torch: the parent needs only the name of ``work``.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import structlog

from reranker.errors import RerankError, lacks_memory
from reranker.service import logs
from reranker.service.children.faults import described
from reranker.service.errors import ServiceError
from reranker.service.server import BACKLOG, Ending, serve_until, web_server
from reranker.service.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from reranker.service.lifecycle import Loaded, Service

_LOGGER = structlog.get_logger("rerank.serve")

# How old a gauge of this process can be when another is asked for the metrics.
_PUBLISHING_SECONDS = 0.5


def work(
    settings: Settings,
    number: int,
    listener: socket.socket,
    connection: Connection,
    folder: str,
    is_replacement: bool,
) -> None:
    """Serve until told to end. A replacement listens only once it is ready: meanwhile others
    answer, and better than with 503."""
    logs.configure(settings, worker=number)
    try:
        app = _application(settings, number, folder, is_replacement)
        asyncio.run(_serve(app, settings, listener, connection))
    except RerankError as error:
        connection.send(("no-memory" if lacks_memory(error) else "failed", str(error)))
        sys.exit(2)


def _application(settings: Settings, number: int, folder: str, is_ready_first: bool) -> FastAPI:
    from reranker.process.cores import available_cores
    from reranker.service import metrics
    from reranker.service.http.app import create_app

    metrics.share(folder, number)
    if settings.threads is None:
        threads = max(1, available_cores() // settings.workers)
        settings = settings.model_copy(update={"threads": threads})
    return create_app(None, settings, is_ready_first)


async def _serve(
    app: FastAPI, settings: Settings, listener: socket.socket, connection: Connection
) -> None:
    service: Service = app.state.service
    server = web_server(app, settings, backlog=1)
    ending = Ending(server, settings.drain_seconds)
    service.supervisor = Parent(connection, service, ending)
    # A second one changes nothing: it may come from the parent and from what ends them all.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.drain)
    publishing = asyncio.create_task(_publish(service, ending))
    with _OneByOne(fileno=listener.detach()) as shared:
        await serve_until(ending, server, service, shared)
    publishing.cancel()


class _OneByOne(socket.socket):
    """asyncio accepts as many waiting connections at a time as it lets wait. A process that took a
    whole burst would leave its neighbours idle; with ``backlog=1`` it takes one, and this lets
    others wait all the same."""

    def listen(self, backlog: int = 0, /) -> None:
        super().listen(BACKLOG)


async def _publish(service: Service, ending: Ending) -> None:
    """Share the gauges; end if scoring is beyond repair, so that the parent starts another."""
    while service.is_alive:
        service.metrics.publish()
        await asyncio.sleep(_PUBLISHING_SECONDS)
    ending.drain()


class Parent:
    """The supervising process, as ``Service`` sees it; follows its orders."""

    def __init__(self, connection: Connection, service: Service, ending: Ending) -> None:
        self._connection, self._service, self._ending = connection, service, ending
        self._loop = asyncio.get_running_loop()
        self._loaded: Loaded | None = None
        self._joined: asyncio.Future[None] = self._loop.create_future()
        self._reloaded: asyncio.Future[str | None] = self._loop.create_future()
        self._loading: asyncio.Task[None] | None = None
        self._loop.add_reader(connection.fileno(), self._receive)

    async def join(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._tell("loaded", loaded.fingerprint)
        await self._joined

    async def reload(self) -> None:
        self._reloaded = self._loop.create_future()
        self._tell("reload")
        reason = await self._reloaded
        if reason is not None:
            raise ServiceError(409, "reload-failed", reason)

    def _tell(self, what: str, value: str = "") -> None:
        with contextlib.suppress(OSError):  # the parent is gone, which _receive will see
            self._connection.send((what, value))

    def _receive(self) -> None:
        try:
            order, value = self._connection.recv()
        except (EOFError, OSError):
            self._loop.remove_reader(self._connection.fileno())
            self._ending.drain()
            return
        if order == "load":
            self._loading = asyncio.create_task(self._load())
        elif order == "switch":
            self._switch()
        elif order == "discard":
            self._loaded = None
        elif order == "reloaded":
            self._reloaded.set_result(value)
        elif order == "count":
            self._service.metrics.reloads.labels(value).inc()
        elif order == "hurry":
            self._ending.hurry()

    async def _load(self) -> None:
        try:
            self._loaded = await self._service.load_again()
        except ServiceError as error:
            self._tell("failed", error.message)
        except Exception as error:
            _LOGGER.error("models not reloaded", **described(error, with_text=True))
            self._tell("failed", "the models could not be loaded; the log says why")
        else:
            self._tell("loaded", self._loaded.fingerprint)

    def _switch(self) -> None:
        if self._loaded is not None:
            self._service.switch(self._loaded)
            self._loaded = None
        if not self._joined.done():
            self._joined.set_result(None)
        self._tell("switched")
