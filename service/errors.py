"""Error answers: ``{"error": {code, message, param, request_id}}``.

A message never holds a path or a stack trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import JSONResponse


class ServiceError(Exception):
    """A request that is answered with an error."""

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


def over_limit(name: str, limit: float, value: float | str, param: str | None) -> ServiceError:
    """422 that names the limit and the value."""
    message = f"{value} is more than the limit {name} = {limit:g} allows"
    return ServiceError(422, "over-limit", message, param)


def overloaded(retry_after: int) -> ServiceError:
    message = "too many requests are waiting; try again later"
    return ServiceError(429, "queue-full", message, retry_after=retry_after)


def unavailable(code: str, message: str, retry_after: int = 1) -> ServiceError:
    return ServiceError(503, code, message, retry_after=retry_after)


def draining(retry_after: int = 1) -> ServiceError:
    return unavailable("draining", "the service is shutting down", retry_after)


def too_late(seconds: float) -> ServiceError:
    message = f"not finished within {seconds:g} s; the request was cancelled"
    return ServiceError(504, "deadline", message)


def envelope(error: ServiceError, request_id: str) -> JSONResponse:
    """The error as an answer."""
    content = {
        "code": error.code,
        "message": error.message,
        "param": error.param,
        "request_id": request_id,
    }
    return JSONResponse({"error": content}, error.status, error.headers)


def from_http(status: int, headers: Mapping[str, str] | None) -> ServiceError:
    """An error raised by the framework: no such path, method not allowed."""
    reason = HTTPStatus(status).phrase
    error = ServiceError(status, reason.lower().replace(" ", "-"), reason)
    error.headers.update(headers or {})
    return error
