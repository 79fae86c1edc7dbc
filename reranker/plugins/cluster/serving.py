"""The service as an application of Ray Serve: ``rerank serve --ray``, or ``serve run
reranker.plugins.cluster:app models=ckpt/``."""

from __future__ import annotations

import contextlib
import logging
import re
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import ray
import structlog
from ray import serve
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reranker.errors import RerankError
from reranker.plugins.cluster.autoscaling import WORK
from reranker.plugins.cluster.connection import connected, ray_errors
from reranker.process.machine import available_cores
from reranker.service import logs
from reranker.service.http.app import create_app
from reranker.service.server import listening
from reranker.service.settings import Settings, load_settings

if TYPE_CHECKING:
    from fastapi import FastAPI

_LOGGER = structlog.get_logger("rerank.serve")

_NAME = "rerank"
_OUR_ERROR = re.compile(r"reranker\.errors\.\w+: (.+)")
_TIMES_QUEUED = 2
"""A replica is sent more requests than the service accepts, so that the service itself refuses
them, with its own answer."""


class Replica:
    """One of the answering processes: all of `rerank serve` except its web server."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """Take settings of `rerank serve` by name, which override its environment variables and
        file; compute with the cores that Ray assigned. Raises InputError for an invalid setting."""
        cores = ray.get_runtime_context().get_assigned_resources().get("CPU", 1)
        # ``engines`` is how many replicas there are: each has one.
        chosen = load_settings({"threads": max(1, int(cores)), **settings, "engines": 1})
        logs.configure(chosen)
        # No replica is sent requests before it can answer them.
        self._app = create_app(chosen, is_ready_first=True)
        self._app.add_middleware(_OneRequestId)

    def __serve_build_asgi_app__(self) -> FastAPI:
        return self._app

    def check_health(self) -> None:
        """Raise an error if the replica cannot work; Ray then replaces it, or does not start it."""
        service = self._app.state.service
        if service.failure is not None:
            raise service.failure
        if not service.is_alive:
            raise RuntimeError("scoring has failed too often")

    def record_autoscaling_stats(self) -> dict[str, float]:
        """Return the figures that Ray passes to ``autoscaling.QueuedWork``."""
        return {WORK: self._app.state.service.work_seconds}


class _OneRequestId:
    """Middleware that leaves the header X-Request-ID to Ray's web server, which adds it to every
    answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_without(message: Message) -> None:
            if message["type"] == "http.response.start":
                del MutableHeaders(scope=message)["X-Request-ID"]
            await send(message)

        await self._app(scope, receive, send_without)


def app(settings: dict[str, Any]) -> Any:
    """Build the application for settings such as ``{"models": "ckpt/"}``: ``serve run``'s
    KEY=VALUE, or ``args`` of a file for ``serve deploy``, in which ``deployments`` says how many
    replicas there are and what each may use (docs/cluster.md). Raises InputError for an invalid
    setting."""
    return _deployment(load_settings(settings)).bind(settings)


def _deployment(settings: Settings) -> Any:
    return serve.deployment(serve.ingress()(Replica)).options(
        num_replicas=settings.engines,
        ray_actor_options={"num_cpus": settings.threads or 1},
        max_ongoing_requests=_TIMES_QUEUED * settings.queue_requests,
        graceful_shutdown_timeout_s=settings.drain_seconds,
        # New replicas answer before the old ones end.
        max_surge_percent=100,
        # The service logs requests itself.
        logging_config={"enable_access_log": False},
    )


def run(settings: Settings, address: str | None) -> int:
    """Serve until SIGTERM, with ``settings.engines`` replicas on the cluster that ``connected``
    finds; return the exit code. Raises RerankError if the models cannot be loaded, if the address
    is in use, or if no cluster can be reached."""
    logs.configure(settings)
    with listening(settings) as listener:  # a free port, where none is named
        update = {"port": listener.getsockname()[1]}
    threads = settings.threads or max(1, available_cores() // settings.engines)
    settings = settings.model_copy(update={**update, "threads": threads})
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    # As many replicas as are wanted, on a machine of few cores too: `rerank serve` allows it.
    cores = settings.engines * threads
    with connected(address, cores), ray_errors(), _served(settings), _until_signal() as asked:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        _LOGGER.info("listening", url=f"http://{host}:{settings.port}")
        _LOGGER.info("ready", replicas=settings.engines)
        while not asked.wait(0.5):  # as in ``reranker.parsers.running``
            pass
        _LOGGER.info("draining")
    return 0


@contextlib.contextmanager
def _served(settings: Settings) -> Iterator[None]:
    # All settings: replicas have the environment of the cluster, not ours.
    given = settings.model_dump(exclude={"config"})
    # A checkpoint that cannot be loaded cannot be loaded the next time either.
    deployment = _deployment(settings).options(max_constructor_retry_count=1)
    serve.start(
        http_options={"host": settings.host, "port": settings.port},
        logging_config={"log_level": "ERROR"},
    )
    try:
        try:
            serve.run(deployment.bind(given), name=_NAME)
        except RuntimeError as error:
            raise RerankError(f"Ray Serve cannot start: {_reason(error)}") from error
        yield
    finally:
        serve.delete(_NAME)  # accepted requests are answered; the cluster may serve more


def _reason(error: Exception) -> str:
    """Return our own error, if Ray's long message quotes one."""
    deployments = serve.status().applications[_NAME].deployments.values()
    text = "\n".join([str(error), *(deployment.message for deployment in deployments)])
    messages = _OUR_ERROR.findall(text)
    return messages[-1] if messages else text.splitlines()[-1]


@contextlib.contextmanager
def _until_signal() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM or SIGINT sets."""
    asked = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: asked.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
