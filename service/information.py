"""``/models``, ``/info``, ``/health`` and ``/metrics``: what runs here and how it is."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from reranker.nbest import FORMATS
from reranker.service import answers
from reranker.service.errors import ServiceError
from reranker.service.lifecycle import Running


async def reload(request: Request, service: Running) -> Any:
    """Load models and keys again; needs an admin key. Requests under way are not disturbed."""
    service.keys.check_admin(request.headers)
    service.current()
    return {"models": answers.models(await service.reload())}


async def models(service: Running) -> Any:
    """The checkpoints of the ensemble."""
    reranker = service.current()
    return {
        "models": [
            {
                "name": member.name,
                "sha256": member.sha256,
                "vocabulary_size": len(member.vocabulary),
                "parameters": sum(weight.numel() for weight in member.model.parameters()),
            }
            for member in reranker.members
        ],
        "combine": reranker.combination,
    }


async def info(service: Running) -> Any:
    """Version, models, device, and every limit a request can meet."""
    reranker, settings = service.current(), service.settings
    return {
        "version": answers.VERSION,
        "models": answers.models(reranker),
        "combine": reranker.combination,
        "device": reranker.device,
        "precision": reranker.precision,
        "formats": FORMATS,
        "limits": settings.limits,
        "batching": {
            "batch_tokens": settings.batch_tokens,
            "batch_wait_ms": settings.batch_wait_ms,
        },
    }


async def live(service: Running) -> Any:
    """Whether the process should be kept running."""
    if not service.is_alive:
        raise ServiceError(503, "dead", "the scoring thread cannot be restarted")
    return {"status": "live"}


async def ready(service: Running) -> Any:
    """Whether requests are accepted: from a first real score on, under any load."""
    service.check_ready()
    return {"status": "ready"}


async def metrics(service: Running) -> Response:
    """Counters in Prometheus's text format."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")
