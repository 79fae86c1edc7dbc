"""How a command that fails ends: exit status and message."""

from __future__ import annotations

import errno

from reranker.errors import RerankError, lacks_memory

OUT_OF_MEMORY = 3  # exit status

_MOST_REASON = 200  # characters
_RANKING = "fewer --threads or a smaller ensemble (--models) take less"
_LESS = {
    "rerank": _RANKING,
    "parse": f"{_RANKING}, fewer --jobs too",
    "adapt": "fewer --threads and --jobs take less",
    "cluster": "fewer --actors, of fewer --cores, take less",
    "generate": "a smaller --beam takes less",
    "serve": "fewer --engines or a smaller ensemble (--models) take less",
    "train": "a smaller batch_tokens or batch_size in --config takes less, --shards too",
}
"""Advice by command."""


def ending(error: Exception, command: str) -> tuple[int, str]:
    """The exit code and message for an error that a user can do something about; other errors are
    raised again."""
    if lacks_memory(error):
        reason = str(error).strip().partition("\n")[0][:_MOST_REASON]
        if isinstance(error, ImportError):
            reason = "a library cannot be loaded"
        because = f" ({reason})" if reason else ""
        advice = _LESS.get(command, "smaller files take less")
        notes = "".join(getattr(error, "__notes__", ()))
        return OUT_OF_MEMORY, f"out of memory{because}; {advice}{notes}"
    if isinstance(error, RerankError):
        return 2, str(error)
    # Errors of a command's files are RerankErrors, which name them.
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
        return 2, f"standard output or standard error: cannot be written: {error.strerror}"
    raise error
