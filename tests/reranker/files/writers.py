"""The places in Python code that create, change or remove files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_CHANGING = re.compile(r"(?=.*[wax+])[rwaxbtU+|:*gz2]+")  # a mode in which a file can change
_MODULES = {"shutil", "tempfile"}
_HARMLESS = {"which", "get_terminal_size", "disk_usage", "tempdir", "gettempdir"}
# Methods and functions by their last name, whatever they belong to.
_METHODS = {
    "write_text", "write_bytes", "mkdir", "makedirs", "touch", "rename", "renames", "unlink",
    "rmdir", "removedirs", "symlink_to", "hardlink_to", "symlink", "link", "truncate", "mkfifo",
    "mknod", "chmod", "chown", "utime", "rmtree", "copyfile", "copyfileobj", "copytree", "copy2",
    "mkdtemp", "mkstemp", "TemporaryFile", "NamedTemporaryFile", "TemporaryDirectory",
    "savefig", "savetxt", "savez", "savez_compressed", "tofile", "memmap", "save_file",
    "to_csv", "to_parquet", "to_pickle", "to_excel", "write_parquet", "write_json", "write_csv",
    "SummaryWriter", "RecordWriter", "FileHandler", "RotatingFileHandler", "extractall", "extract",
    "rm", "rm_file", "put_file", "pipe_file",
}  # fmt: skip
_QUALIFIED = {
    *("os.open", "os.remove", "os.replace", "np.save", "numpy.save", "torch.save", "json.dump"),
    *("pickle.dump", "marshal.dump", "shelve.open", "sqlite3.connect", "dbm.open"),
}
_OURS = {"whole_file", "open_whole", "save_figure"}
"""Those that check what they replace if they are told what is the program's own."""
_OUR_OTHERS = {"NewFile", "open_output", "claimed", "write_atomically"}


def writers(code: str) -> set[str]:
    """Return each place that writes, as ``function call``: the function's dotted name, ``-`` at the
    top, and what it calls there."""
    return {f"{where or '-'} {what}" for where, what in _writers(ast.parse(code), "")}


def _writers(node: ast.AST, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Call) and (what := _written(node)):
        yield where, what
    elif isinstance(node, ast.Attribute) and (node.attr in _METHODS or _of_modules(node)):
        yield where, node.attr  # which may be called elsewhere
    inner = where
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        inner = f"{where}.{node.name}".lstrip(".")
    for child in ast.iter_child_nodes(node):
        yield from _writers(child, inner)


def _written(call: ast.Call) -> str | None:
    """Return the name of a call that can create, change or remove a file; None for any other."""
    name = ast.unparse(call.func)
    last = name.rpartition(".")[2]
    if last in _OURS:
        return None if _is_checked(call) else last
    if last in {"open", "fdopen", "ZipFile", "TarFile", "GzipFile", "ZstdFile", "FileIO"}:
        return name if name in _QUALIFIED or _opens_to_write(call) else None
    if last in _OUR_OTHERS or name in _QUALIFIED or name in _METHODS:
        return last
    if last == "basicConfig":
        return last if _has(call, "filename") else None
    # `str.replace` has two arguments, `dataclasses.replace` names its own.
    is_path = isinstance(call.func, ast.Attribute) and len(call.args) == 1 and not call.keywords
    return last if last == "replace" and is_path else None


def _of_modules(node: ast.Attribute) -> bool:
    return ast.unparse(node.value) in _MODULES and node.attr not in _HARMLESS


def _is_checked(call: ast.Call) -> bool:
    """Return whether the call names the program's own files, or standard output."""
    place = 2 if ast.unparse(call.func).endswith("save_figure") else 1
    to_stdout = bool(call.args) and isinstance(call.args[0], ast.Constant)
    return to_stdout or len(call.args) > place or _has(call, "is_own")


def _opens_to_write(call: ast.Call) -> bool:
    """Return whether a file is opened to be written, or in a mode that the code does not show."""
    modes = [each.value for each in call.keywords if each.arg == "mode"]
    modes += call.args[:2] if isinstance(call.func, ast.Attribute) else call.args[1:2]
    for mode in modes:
        if not isinstance(mode, ast.Constant):
            # The first argument is the file's name where the mode is the second.
            if mode is not call.args[0]:
                return True
        elif isinstance(mode.value, str) and _CHANGING.fullmatch(mode.value):
            return True
    return False


def _has(call: ast.Call, keyword: str) -> bool:
    return any(each.arg == keyword for each in call.keywords)


def found(root: Path, folders: list[str]) -> dict[str, set[str]]:
    """Return the writing places of every file in the folders, by its path; links are not
    followed."""
    files = {
        path.relative_to(root).as_posix(): writers(path.read_text("utf-8"))
        for folder in folders
        for path in sorted((root / folder).rglob("*.py"))
    }
    return {name: places for name, places in files.items() if places}
