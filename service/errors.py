"""What the service says when it does not answer: ``{"error": {code, message, param, request_id}}``.

A message never holds a path or a stack trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse


class ServiceError(Exception):
    """A request that gets an error for an answer."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        param: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        """``param`` is the field or header at fault; ``retry_after`` is in seconds."""
        super().__init__(message)
        self.status, self.code, self.message, self.param = status, code, message, param
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


def over_limit(name: str, limit: float, found: float | str, param: str) -> ServiceError:
    """422 that names the limit and the value."""
    message = f"{found} is more than the limit {name} = {limit:g} allows"
    return ServiceError(422, "over-limit", message, param)


def overloaded(retry_after: int) -> ServiceError:
    return ServiceError(
        429, "queue-full", "too many requests are waiting; try again", retry_after=retry_after
    )


def unavailable(code: str, message: str, retry_after: int = 1) -> ServiceError:
    return ServiceError(503, code, message, retry_after=retry_after)


def too_late(seconds: float) -> ServiceError:
    return ServiceError(504, "deadline", f"not done within {seconds:g} s; the work is dropped")


def internal() -> ServiceError:
    """For what is our mistake; the log has the details under the request's id."""
    return ServiceError(500, "internal", "a mistake of the service; its log says more")


def envelope(error: ServiceError, request_id: str) -> JSONResponse:
    """The error as an answer."""
    content: dict[str, Any] = {
        "error": {
            "code": error.code,
            "message": error.message,
            "param": error.param,
            "request_id": request_id,
        }
    }
    return JSONResponse(content, error.status, error.headers)


def from_http(status: int, headers: Mapping[str, str] | None) -> ServiceError:
    """An error of the framework's own: no such path, no such method."""
    reason = HTTPStatus(status).phrase
    error = ServiceError(status, reason.lower().replace(" ", "-"), reason)
    error.headers.update(headers or {})
    return error
