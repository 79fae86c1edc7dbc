"""``rerank serve``: settings, a web server, and its reaction to signals.

torch and the web server are imported after the settings have been checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import structlog

from reranker.errors import InputError
from reranker.process.machine import share_freed_memory
from reranker.service import logs
from reranker.service.errors import RequestError
from reranker.service.settings import Settings

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from reranker.service.lifecycle import Service

_LOGGER = structlog.get_logger("rerank.serve")

# Connections that may wait to be accepted.
_BACKLOG = 2048
# Time for connections that are still open after the last answer.
_CLOSING_SECONDS = 1
# The process ends this many seconds after the drain time: 2 s are promised, and a busy machine is
# slow.
_EXIT_SECONDS = 1.25
_TURN_SECONDS = 0.0005
# Load balancers close idle connections after a minute; they must close before the service does.
_IDLE_SECONDS = 75


def run(settings: Settings) -> int:
    """Serve until SIGTERM, and return the exit code. Raises RerankError if the models cannot be
    loaded, and if the address is taken or open to anyone."""
    if settings.device not in ("auto", "cpu"):
        from reranker.checkpoints.members import devices

        devices(settings.device)
    logs.configure(settings)
    from reranker.service.http.app import create_app

    app = create_app(settings)
    with listening(settings) as listener:
        return asyncio.run(_serve(app.state.service, web_server(app, settings), listener))


def web_server(app: FastAPI, settings: Settings) -> uvicorn.Server:
    """Return a web server that is not started yet."""
    import uvicorn

    from reranker.service.http.connections import bounded

    class Server(uvicorn.Server):
        """A server without handlers of signals: uvicorn's would stop listening at once."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    # Python's threads take turns this often while requests are read; /health/live needs several.
    sys.setswitchinterval(_TURN_SECONDS)
    share_freed_memory(1)  # its threads take turns anyway
    return Server(
        uvicorn.Config(
            app,
            http=bounded(app.state.service),
            ws="none",
            lifespan="on",
            backlog=1,  # see ``_Listener``
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(settings.forwarded_allow_ips),
            forwarded_allow_ips=settings.forwarded_allow_ips,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_CLOSING_SECONDS,
        )
    )


class _Listener(socket.socket):
    """A socket that lets connections wait although the backlog is 1.

    asyncio accepts as many connections at a time as the backlog lets wait and, when files run out,
    logs an error for each of them.
    """

    def listen(self, backlog: int = 0, /) -> None:
        super().listen(_BACKLOG)


def listening(settings: Settings) -> socket.socket:
    """Return a socket at the address of the settings. Raises InputError if the address is taken, or
    if other machines could connect without a key and ``public`` is not set."""
    if not (settings.has_keys or settings.public or _is_local(settings.host)):
        raise InputError(
            f"{settings.host} is an address that others can reach, and there are no keys: set "
            "RERANK_API_KEYS or --api-keys-file, or accept requests without keys with --public"
        )
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        address = (settings.host, settings.port)
        listener = socket.create_server(address, family=family, backlog=_BACKLOG)
        # Accepted connections inherit it; asyncio sets it only on sockets made with a protocol.
        # Without it the second packet of an answer waits for the client's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _Listener(fileno=listener.detach())
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0]
        advice = "; choose another --port (0: any free one)"
        is_taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
        raise InputError(
            f"cannot listen on {settings.host} port {settings.port}: {reason}"
            f"{advice if is_taken else ''}"
        ) from error


def _is_local(host: str) -> bool:
    """Return whether only this machine can connect to an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _exit_within(seconds: float) -> None:
    """End the process after ``seconds`` at the latest. Python would wait for busy threads."""
    timer = threading.Timer(seconds, _exit_now)
    timer.daemon = True
    timer.start()


def _exit_now() -> None:
    try:
        _LOGGER.warning("exiting although threads are busy")
        sys.stderr.flush()
    finally:
        os._exit(0)


async def _serve(service: Service, server: uvicorn.Server, listener: socket.socket) -> int:
    loop, is_ending = asyncio.get_running_loop(), asyncio.Event()

    def end() -> None:
        """End the service once accepted requests are answered; on a second signal, at once."""
        server.force_exit = is_ending.is_set()
        seconds = 0 if is_ending.is_set() else service.settings.drain_seconds
        _exit_within(seconds + _EXIT_SECONDS)
        is_ending.set()

    async def reload() -> None:
        with contextlib.suppress(RequestError):  # already logged
            await service.reload()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    loop.add_signal_handler(signal.SIGHUP, lambda: service.run(reload()))
    loop.set_exception_handler(_LoopErrors())
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    watching = asyncio.create_task(_watch(is_ending, server, service, listener))
    await asyncio.wait({serving, watching}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving
    watching.cancel()
    if service.failure is not None:
        raise service.failure
    return 0


class _LoopErrors:
    """A logger of the event loop's errors, with at most one line a second about a lack of file
    descriptors."""

    _next = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)):
            loop.default_exception_handler(context)
        elif loop.time() >= self._next:
            self._next = loop.time() + 1
            _LOGGER.error("no connection can be accepted", error=error.strerror)


async def _watch(
    is_ending: asyncio.Event, server: uvicorn.Server, service: Service, listener: socket.socket
) -> None:
    """Wait until the server should stop: models cannot be loaded, or the last answer is sent."""
    while not server.started:
        await asyncio.sleep(0.01)
    host, port = listener.getsockname()[:2]
    _LOGGER.info("listening", url=f"http://{f'[{host}]' if ':' in host else host}:{port}")
    while not is_ending.is_set() and service.failure is None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(is_ending.wait(), 0.1)
    if service.failure is None:
        _LOGGER.info("draining", in_flight=service.in_flight)
        await service.drain()
