"""Error answers: ``{"error": {code, message, param, request_id}}``."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from reranker.service.errors import RequestError

# An error may quote the text of a user, but not a megabyte of it.
_LONGEST_MESSAGE = 1000
_LONGEST_PARAM = 200


class JSONLine(JSONResponse):
    """JSON that ends with a newline, for terminals and for tools that read lines."""

    def render(self, content: Any) -> bytes:
        return super().render(content) + b"\n"


def content(error: RequestError, request_id: str) -> dict[str, Any]:
    """Return the JSON of an error."""
    return {
        "error": {
            "code": error.code,
            "message": _shortened(error.message, _LONGEST_MESSAGE),
            "param": None if error.param is None else _shortened(error.param, _LONGEST_PARAM),
            "request_id": request_id,
        }
    }


def envelope(error: RequestError, request_id: str) -> JSONLine:
    """Return the error as an answer."""
    return JSONLine(content(error, request_id), error.status, error.headers)


def from_http(status: int, headers: Mapping[str, str] | None) -> RequestError:
    """Return the error for a status of the framework, such as 404 or 405."""
    reason = HTTPStatus(status).phrase
    error = RequestError(status, reason.lower().replace(" ", "-"), reason)
    error.headers.update(headers or {})
    if error.headers.get("Allow") == "GET":
        error.headers["Allow"] = "GET, HEAD"  # see HeadAsGet
    return error


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}..."
