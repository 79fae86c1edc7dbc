"""`rerank` and scripts in this process: no interpreter starts, and torch is imported once."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

from reranker.commands.main import main
from tests.reranker.small_files import standard_input
from tests.shell import environment


def rerank(
    *arguments: str | Path, given: str | bytes = b"", folder: Path | None = None
) -> CompletedProcess[str]:
    """Run the command in the folder, with ``given`` as standard input; return its exit status and
    output, as subprocess.run does."""
    words = [str(each) for each in arguments]
    return _ended(words, lambda: main(words), given, folder)


def piped(command: str, folder: Path) -> CompletedProcess[str]:
    """Run the commands of a pipe one after another, `rerank` and `python - <<'END'` in this
    process; return the last one's output, all messages and, as under ``pipefail``, the last status
    that is not 0."""
    if program := re.fullmatch(r"python - <<'END'\n(.*)END", command, re.DOTALL):
        file = folder / "program.py"
        file.write_text(program[1], encoding="utf-8")
        return script(file, folder=folder)
    text, messages, status = "", "", 0
    for part in command.strip().split(" | "):
        if part.split()[0] == "rerank":
            done = rerank(*shlex.split(part)[1:], given=text, folder=folder)
        else:
            done = subprocess.run(
                ["bash", "-euc", part],
                input=text, cwd=folder, env=environment(), capture_output=True, encoding="utf-8",
            )  # fmt: skip
        text, messages = done.stdout, messages + done.stderr
        status = done.returncode or status
    return CompletedProcess(command, status, text, messages)


def script(path: Path, *arguments: object, folder: Path | None = None) -> CompletedProcess[str]:
    """Run a script in the same way. It imports those beside it by their names."""
    words = [str(path), *map(str, arguments)]

    def run() -> int:
        with (
            patch.object(sys, "argv", words),
            patch.object(sys, "path", [str(path.parent), *sys.path]),
        ):
            runpy.run_path(str(path), run_name="__main__")
        return 0

    return _ended(words, run, b"", folder)


def _ended(
    words: list[str], run: Callable[[], int], given: str | bytes, folder: Path | None
) -> CompletedProcess[str]:
    printed, complaints = io.BytesIO(), io.BytesIO()
    with (
        contextlib.chdir(folder or Path.cwd()),
        standard_input(given),
        io.TextIOWrapper(printed, "utf-8", "surrogateescape", newline="\n") as out,
        io.TextIOWrapper(complaints, "utf-8", "backslashreplace", newline="\n") as messages,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(messages),
    ):
        try:
            status = run()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
        out.flush()
        messages.flush()
        texts = [each.getvalue().decode() for each in (printed, complaints)]
    return CompletedProcess(words, status, *texts)
