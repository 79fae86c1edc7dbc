"""``rerank serve``: settings, a web server, and its reaction to signals.

torch and the web server are imported only after the settings have been checked.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import structlog

from reranker.checkpoints.ensemble_file import named_models
from reranker.errors import InputError
from reranker.service import logs
from reranker.service.errors import ServiceError
from reranker.service.settings import Settings, load_settings

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from reranker.service.lifecycle import Service

_LOGGER = structlog.get_logger("rerank.serve")

# Time for connections that are still open after the last answer.
_CLOSING_SECONDS = 1
# After what is left of the drain time, the process ends; 2 s are promised, and a busy machine may
# take its time.
_EXIT_SECONDS = 1.25
_TURN_SECONDS = 0.001
# Load balancers close idle connections after a minute, and must do so first.
_IDLE_SECONDS = 75


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM; returns the exit code."""
    settings = load_settings(vars(arguments))
    named_models(settings.models, settings.combine, settings.sha256)
    if settings.device not in ("auto", "cpu"):
        from reranker.checkpoints.devices import devices

        devices(settings.device)
    logs.configure(settings)
    from reranker.service.app import create_app

    return serve(create_app(None, settings), settings)


def serve(app: FastAPI, settings: Settings) -> int:
    """Serve an application of ``create_app`` until SIGTERM; returns the exit code.

    Raises RerankError if its models cannot be loaded or the address is taken.
    """
    import uvicorn

    from reranker.service.connections import bounded

    class Server(uvicorn.Server):
        """Leaves signals to us: uvicorn would stop listening at once."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    config = uvicorn.Config(
        app,
        http=bounded(app.state.service),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.forwarded_allow_ips),
        forwarded_allow_ips=settings.forwarded_allow_ips,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_CLOSING_SECONDS,
    )
    # Python's threads take turns this often while requests are read; /health/live needs several.
    sys.setswitchinterval(_TURN_SECONDS)
    with _listener(settings) as listener:
        return asyncio.run(_serve(Server(config), listener, app.state.service))


def _listener(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family, backlog=2048)
        # Accepted connections inherit it; asyncio sets it only on sockets made with a protocol.
        # Without it the second packet of an answer waits for the client's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        message = f"cannot listen on {settings.host} port {settings.port}: {error.strerror}"
        raise InputError(message) from error


def _exit_within(seconds: float) -> None:
    """End the process by then, whatever its threads compute: Python would wait for them."""
    timer = threading.Timer(seconds, _exit_now)
    timer.daemon = True
    timer.start()


def _exit_now() -> None:
    try:
        _LOGGER.warning("exiting although threads are busy")
        sys.stderr.flush()
    finally:
        os._exit(0)


async def _serve(server: uvicorn.Server, listener: socket.socket, service: Service) -> int:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    reloads: set[asyncio.Task[None]] = set()

    def ask_to_stop() -> None:
        if stop.is_set():
            server.force_exit = True  # second signal: at once
            _exit_within(_EXIT_SECONDS)
        else:
            _exit_within(service.settings.drain_seconds + _EXIT_SECONDS)
        stop.set()

    async def reload() -> None:
        with contextlib.suppress(ServiceError):  # already logged
            await service.reload()

    def ask_to_reload() -> None:
        task = asyncio.create_task(reload())
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask_to_stop)
    loop.add_signal_handler(signal.SIGHUP, ask_to_reload)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    watching = asyncio.create_task(_watch(server, listener, service, stop))
    await asyncio.wait({serving, watching}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving
    watching.cancel()
    if service.failure is not None:
        raise service.failure
    return 0


async def _watch(
    server: uvicorn.Server, listener: socket.socket, service: Service, stop: asyncio.Event
) -> None:
    """Logs the address; returns when the server should stop: if models cannot be loaded, or after a
    signal and the last answer."""
    while not server.started:
        await asyncio.sleep(0.01)
    host, port = listener.getsockname()[:2]
    _LOGGER.info("listening", url=f"http://{f'[{host}]' if ':' in host else host}:{port}")
    while not stop.is_set() and service.failure is None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.1)
    if service.failure is None:
        _LOGGER.info("draining", in_flight=service.in_flight)
        await service.drain()
