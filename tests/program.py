"""`rerank` in this process: no interpreter starts, and torch is imported once."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from subprocess import CompletedProcess

from reranker.commands.main import main
from tests.reranker.small_files import standard_input


def rerank(
    *arguments: str | Path, given: str | bytes = b"", folder: Path | None = None
) -> CompletedProcess[str]:
    """Run the command in the folder, with ``given`` as standard input; return its exit status and
    output, as subprocess.run does."""
    words = [str(each) for each in arguments]
    printed, said = io.BytesIO(), io.BytesIO()
    with (
        contextlib.chdir(folder or Path.cwd()),
        standard_input(given),
        io.TextIOWrapper(printed, "utf-8", "surrogateescape", newline="\n") as out,
        io.TextIOWrapper(said, "utf-8", "backslashreplace", newline="\n") as messages,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(messages),
    ):
        try:
            status = main(words)
        except SystemExit as end:  # argparse's
            status = int(end.code or 0)
        out.flush()
        messages.flush()
        texts = [each.getvalue().decode() for each in (printed, said)]
    return CompletedProcess(words, status, *texts)
