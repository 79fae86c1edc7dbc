"""Files and folders whose names the program chose, not the user: only files that the program itself
made under such a name are ever replaced."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

from reranker.errors import InputError
from reranker.files.text import read_lines

Ours = Callable[[Path], bool]
"""Tells whether the program made a regular file that exists."""

OTHER_FOLDER = "rename or delete it, or choose another folder"
NOT_OURS = "not a file that this run may replace"
_LEFT = {".lock", ".tmp"}
_KINDS = {stat.S_IFREG: "", stat.S_IFDIR: ", but a folder", stat.S_IFLNK: ", but a link"}


def always(_: Path) -> bool:
    """Return True: something else has shown, or will, that the file is the run's own."""
    return True


def never(_: Path) -> bool:
    """Return False: no file of this name is replaced, whoever made it."""
    return False


def check_own(path: Path, ours: Ours, advice: str = OTHER_FOLDER, reason: str = NOT_OURS) -> bool:
    """Return whether there is a file at ``path``, a name that the program chose, to be replaced.

    Raises InputError, with the reason and the advice, for anything there that the program did not
    make, which would be destroyed.
    """
    try:
        kind = stat.S_IFMT(path.lstat().st_mode)
        if kind == stat.S_IFREG and ours(path):
            return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    what = _KINDS.get(kind, ", but a device or pipe")
    raise InputError(f"{path}: {reason}{what}; {advice}")


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, unless they exist. Raises InputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InputError(f"{folder}: cannot be written: it is not a folder") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{folder}: cannot be written: {reason}") from error


def check_new(folder: Path, advice: str) -> None:
    """Raise InputError if a folder that a run is about to fill already has files of another kind; a
    claim or a kill may have left some."""
    if folder.is_dir() and any(each.suffix not in _LEFT for each in folder.iterdir()):
        raise InputError(f"{folder} contains files of another kind: {advice}")


def record_in(path: Path) -> str | None:
    """Return the record by which a run recognises its folder; None if there is none. Raises
    InputError if something else has its name."""
    return "".join(read_lines(path)) if check_own(path, always) else None
