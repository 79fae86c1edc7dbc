"""Errors that nobody expected, for the log; apart from it, since the process that scores has none
and starts sooner without what it needs."""

from __future__ import annotations

import traceback


def described(error: BaseException, with_text: bool = False) -> dict[str, str]:
    """An error as fields of the log. ``with_text`` adds its message, which may quote a user. An
    error in another process comes with a ``description`` made there."""
    if (given := getattr(error, "description", None)) is not None:
        return {name: value for name, value in given.items() if with_text or name != "message"}
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-4:]))
    fields = {"error": type(error).__name__, "where": where}
    return {**fields, "message": str(error)} if with_text else fields
