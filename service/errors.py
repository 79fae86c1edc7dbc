"""Errors that answer a request, and how the log describes unexpected errors.

A message never holds a path or a stack trace. Child processes raise these errors too, so nothing
here imports the web framework: ``http/envelope.py`` writes the answers.
"""

from __future__ import annotations

import traceback


class RequestError(Exception):
    """An error that answers a request."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        param: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        """Take ``param``, the field or header at fault, and ``retry_after`` in seconds."""
        super().__init__(message)
        self.status, self.code, self.message, self.param = status, code, message, param
        self.retry_after = retry_after
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}

    def __reduce__(self) -> tuple[type[RequestError], tuple[object, ...]]:
        """Return the class and arguments from which pickle creates the error in another process."""
        given = self.status, self.code, self.message, self.param, self.retry_after
        return RequestError, given


class Lost(Exception):
    """The loss of a child process, or of a request in it; ``description`` is for the log."""

    has_hung = False
    """Whether the child was killed because it made no progress."""
    signal: int | None = None
    """The signal that ended the child, if a signal did."""

    def __init__(self, message: str, description: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.description = description or {"error": message}


def unavailable(code: str, message: str, retry_after: int = 1) -> RequestError:
    return RequestError(503, code, message, retry_after=retry_after)


def draining(retry_after: int = 1) -> RequestError:
    return unavailable("draining", "the service is shutting down", retry_after)


def too_late(seconds: float) -> RequestError:
    message = (
        f"not finished within {seconds:g} s; the request was cancelled: send less, or ask for more "
        "time in the header X-Request-Timeout"
    )
    return RequestError(504, "deadline", message)


def described(error: BaseException, with_text: bool = False) -> dict[str, str]:
    """Return fields of the log that describe an unexpected error. ``with_text`` adds the error's
    message, which may quote a user. An error of a child process has a ``description`` from
    there."""
    if (given := getattr(error, "description", None)) is not None:
        return {name: value for name, value in given.items() if with_text or name != "message"}
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-4:]))
    fields = {"error": type(error).__name__, "where": where}
    return {**fields, "message": str(error)} if with_text else fields
