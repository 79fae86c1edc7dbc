"""Logs: a line for each request and event, as text or JSON. Without ``log_text`` no line quotes a
user."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import structlog

from reranker.files.visible import visible

if TYPE_CHECKING:
    from reranker.service.settings import Settings


def configure(settings: Settings, **fields: object) -> None:
    """Send all logs to standard error, also those of the web server. Every line has ``fields``."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        lambda _logger, _method, event: {**event, **fields},
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    # Plain: the values of local variables do not belong in a log.
    render: list[Any] = [
        _visible,
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        ),
    ]
    if settings.log_format == "json":
        render = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    # A reader's warnings quote the user's text; they are in the answer instead.
    logging.getLogger("reranker").setLevel(logging.ERROR)


def _visible(_logger: object, _method: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event without characters that could control a terminal."""
    return {
        name: visible(value) if isinstance(value, str) else value for name, value in event.items()
    }
