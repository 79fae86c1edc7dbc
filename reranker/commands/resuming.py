"""What commands with ``--out`` and ``--resume`` do about an interrupted run: skip what it has
written, and say how much is kept and how to continue."""

from __future__ import annotations

import argparse
import itertools
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

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
    """Open an output as ``open_output`` does; an interruption, an unusable input or lack of memory
    says how much of the output is kept."""
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


class _Sentence(Protocol):
    def digest(self) -> str: ...


S = TypeVar("S", bound=_Sentence)


def skip_written(output: AnswerOutput, sentences: Iterable[S]) -> Iterator[tuple[S, Written]]:
    """Yield each of the sentences that an interrupted run has written, with its record.

    Raises InputError if they are not the sentences that the run has read.
    """
    if not output.kept:
        return
    read, again = itertools.tee(sentences)
    with status("skipping what the interrupted run has written"):
        # The records first: after the last of them, no further sentence is read.
        records = output.resumed(each.digest() for each in again)
        for record, sentence in zip(records, read, strict=False):
            yield sentence, record
    message(f"rerank: resuming after sentence {output.kept}")


def _kept(sentences: int, advice: str) -> str:
    """Return the message about the sentences that an interrupted run has written to ``--out``."""
    if not sentences:
        return ""
    are_kept = f"{counted(sentences, 'sentence')} {'is' if sentences == 1 else 'are'} kept"
    return f"; {are_kept}{advice}"


def _resuming(arguments: argparse.Namespace, inputs: Sequence[str]) -> str:
    """Say how to resume: by the command itself, if it is short and can be repeated."""
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
