"""The service as an application of Ray Serve: `serve run reranker.ray:app models=ckpt/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ray
from ray import serve

from reranker.service import logs
from reranker.service.app import create_app
from reranker.service.settings import load_settings

if TYPE_CHECKING:
    from fastapi import FastAPI


class Replica:
    """One of the processes that answer: all of `rerank serve` but its web server."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """Settings of `rerank serve` by name, on top of its environment variables and file; it
        computes with the cores that Ray gave it. Raises InputError for an invalid setting."""
        cores = ray.get_runtime_context().get_assigned_resources().get("CPU", 1)
        chosen = load_settings({"threads": max(1, int(cores)), **settings})
        logs.configure(chosen)
        # No replica is sent requests before it can answer them.
        self._app = create_app(None, chosen, is_ready_first=True)

    def __serve_build_asgi_app__(self) -> FastAPI:
        return self._app

    def check_health(self) -> None:
        """Ray replaces a replica for which this raises."""
        if not self._app.state.service.is_alive:
            raise RuntimeError("scoring has failed too often")


def app(settings: dict[str, str]) -> Any:
    """The application for settings such as ``{"models": "ckpt/"}``: ``serve run``'s KEY=VALUE, or
    ``args`` of a file for ``serve deploy``, in which ``deployments`` says how many replicas there
    are and what each may use (docs/cluster.md)."""
    return serve.deployment(serve.ingress()(Replica)).bind(settings)
