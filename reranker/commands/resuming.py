"""What commands with ``--out`` and ``--resume`` do about an interrupted run: skip what it has
written, and say how much is kept and how to continue."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reranker.commands.arguments import counted
from reranker.commands.progress import message, status
from reranker.errors import InputError, lacks_memory
from reranker.files.journal import AnswerOutput, Finish, open_output
from reranker.files.records import Written

_LONGEST_ADVICE = 300  # characters of a command


@contextmanager
def opened_output(
    path: Path | None,
    arguments: argparse.Namespace,
    inputs: Sequence[str],
    settings: Mapping[str, Any],
    finish: Finish | None = None,
) -> Iterator[AnswerOutput]:
    """The output that ``open_output`` opens; an interruption, an unusable input or lack of memory
    says how much of it is kept."""
    output = AnswerOutput()
    try:
        with open_output(path, arguments.resume, settings, finish) as output:
            yield output
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_kept(output.kept, _resuming(arguments, inputs))) from None
    except InputError as error:
        advice = ": correct this and run the same command with --resume to continue"
        raise InputError(f"{error}{_kept(output.kept, advice)}") from error
    except Exception as error:
        if lacks_memory(error):
            error.add_note(_kept(output.kept, _resuming(arguments, inputs)))
        raise


def skip_written(
    output: AnswerOutput, digests: Iterable[str], add: Callable[[Written], None]
) -> None:
    """Skip the sentences that an interrupted run has written, and ``add`` the record of each.
    Raises InputError if ``digests``, those of the sentences read now, differ."""
    if not output.kept:
        return
    with status("skipping what the interrupted run has written"):
        for record in output.resumed(digests):
            add(record)
    message(f"rerank: resuming after sentence {output.kept}")


def _kept(sentences: int, advice: str) -> str:
    """The message about the sentences that an interrupted run has written to ``--out``."""
    if not sentences:
        return ""
    are_kept = f"{counted(sentences, 'sentence')} {'is' if sentences == 1 else 'are'} kept"
    return f"; {are_kept}{advice}"


def _resuming(arguments: argparse.Namespace, inputs: Sequence[str]) -> str:
    """How to resume: the command itself, if it is short and can be repeated."""
    program = sys.argv[0]
    if Path(program).name != "rerank" or shutil.which("rerank") == program:
        program = "rerank"
    command = shlex.join([program, *arguments.command_line])
    if not arguments.resume:
        command += " --resume"
    are_files = all(map(os.path.isfile, inputs))
    if len(command) > _LONGEST_ADVICE or not are_files:
        return ": run the same command with --resume to continue"
    return f"; to continue: {command}"
