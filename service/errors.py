"""Error answers: ``{"error": {code, message, param, request_id}}``.

A message never holds a path or a stack trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

# What a user sent may be quoted in an error, but not by the megabyte.
_LONGEST_MESSAGE = 1000
_LONGEST_PARAM = 200


class JSONLine(JSONResponse):
    """JSON that ends with a newline, for terminals and for tools that read lines."""

    def render(self, content: Any) -> bytes:
        return super().render(content) + b"\n"


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


def too_often(retry_after: int) -> ServiceError:
    message = "this client asks more often than client_rate allows; try again later"
    return ServiceError(429, "too-often", message, retry_after=retry_after)


def unavailable(code: str, message: str, retry_after: int = 1) -> ServiceError:
    return ServiceError(503, code, message, retry_after=retry_after)


def draining(retry_after: int = 1) -> ServiceError:
    return unavailable("draining", "the service is shutting down", retry_after)


def too_late(seconds: float) -> ServiceError:
    message = f"not finished within {seconds:g} s; the request was cancelled"
    return ServiceError(504, "deadline", message)


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}..."


def content(error: ServiceError, request_id: str) -> dict[str, Any]:
    """What an answer says of the error."""
    return {
        "error": {
            "code": error.code,
            "message": _shortened(error.message, _LONGEST_MESSAGE),
            "param": None if error.param is None else _shortened(error.param, _LONGEST_PARAM),
            "request_id": request_id,
        }
    }


def envelope(error: ServiceError, request_id: str) -> JSONLine:
    """The error as an answer."""
    return JSONLine(content(error, request_id), error.status, error.headers)


def from_http(status: int, headers: Mapping[str, str] | None) -> ServiceError:
    """An error raised by the framework: no such path, method not allowed."""
    reason = HTTPStatus(status).phrase
    error = ServiceError(status, reason.lower().replace(" ", "-"), reason)
    error.headers.update(headers or {})
    if error.headers.get("Allow") == "GET":
        error.headers["Allow"] = "GET, HEAD"  # see HeadAsGet
    return error
