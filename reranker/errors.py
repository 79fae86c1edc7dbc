"""Errors that a user can cause. The command line prints them; the service maps them to a status."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator
from typing import SupportsIndex


class RerankError(Exception):
    """The base of every error that means "the input is wrong", never "the program is wrong"."""


class TreeError(RerankError):
    """A text that is not a usable constituency tree.

    ``code`` identifies the fault in every report: ``empty``, ``unbalanced``, ``not-a-tree``,
    ``too-deep``, ``too-long`` or ``encoding`` for a text alone, ``wrong-length`` or
    ``wrong-words`` for a tree that is not one of its sentence.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class InputError(RerankError):
    """A file that cannot be read or has the wrong content; the message names file and line."""


class KindError(InputError):
    """A file of another kind than expected; the message names both."""


class CheckpointError(RerankError):
    """A file that is not a checkpoint of ours, or belongs to another version or architecture."""


class ConfigError(RerankError):
    """A configuration with an unknown setting or an invalid value."""


def positive(name: str, value: SupportsIndex) -> int:
    """Return a caller's number, also one of numpy's, as an int; raise InputError for anything but a
    positive integer."""
    with contextlib.suppress(TypeError):
        if not isinstance(value, bool) and (number := operator.index(value)) > 0:
            return number
    raise InputError(f"{name} must be a positive integer, got {value!r:.60}")


@contextlib.contextmanager
def needing(message: str) -> Iterator[None]:
    """Wrap the import of an optional library; without it, raise InputError with ``message``, the
    advice on installing it."""
    try:
        yield
    except ImportError as error:
        raise InputError(message) from error


# The messages of torch's RuntimeErrors, for a GPU and for a CPU, and of oneDNN; of Python about
# threads, and about unprepared C code; of the system, and of its loader of libraries.
_NO_MEMORY = (
    *("out of memory", "can't allocate memory", "could not create a primitive", "bad_alloc"),
    *("can't start new thread", "without exception set", "without setting an exception"),
    *("Cannot allocate memory", "failed to map segment"),
)


def lacks_memory(error: BaseException | None) -> bool:
    """Return whether an error, or its cause, means that memory ran out."""
    if isinstance(error, RuntimeError | SystemError | OSError | ImportError):
        says_so = any(words in str(error) for words in _NO_MEMORY)
    else:
        says_so = isinstance(error, MemoryError)
    return says_so or (error is not None and lacks_memory(error.__cause__))
