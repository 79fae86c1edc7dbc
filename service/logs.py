"""Logs: a line for each request and event, as text or JSON. What users send is not in them unless
``log_text`` asks for it."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any

import structlog

from reranker.service.settings import Settings


def configure(settings: Settings) -> None:
    """Send our log and the web server's to standard error, in the form the settings ask for."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    # Plain: the values of local variables are no business of a log.
    render: list[Any] = [
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
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
    # A reader's warning quotes the text it is about; the answer has it.
    logging.getLogger("reranker").setLevel(logging.ERROR)


def described(error: BaseException, with_text: bool = False) -> dict[str, str]:
    """An unexpected error for the log. Its message may quote what a user sent: ``with_text``."""
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{one.name}:{one.lineno}" for one in reversed(frames[-4:]))
    found = {"error": type(error).__name__, "where": where}
    return {**found, "message": str(error)} if with_text else found
