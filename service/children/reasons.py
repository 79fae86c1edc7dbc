"""What clients see of a parser's answer: no tree beyond the limits, and of why a sentence could not
be parsed nothing that a library or a program has said, which may name files. That is for the
operator, in the log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from reranker.nbest import NBest, Rejected

# Parsers whose reasons are of our own wording, but for how their programs end. What a package
# raises, or another's parser says, is not.
_OURS = ("bllip", "chart", "command")

# A reason that ends with what a program has said.
_ENDING = re.compile(r"(the parser (?:ended with status|was killed by signal) \d+): .*", re.DOTALL)

# The name of what was raised, with which such a reason begins.
_RAISED = re.compile(r"(?:^|: )(\w+(?:Error|Exception))(?=:|$)")

BROKEN = "the parser does not work; the log of the service says why"

UNSAID = "the parser failed; the log of the service says why"


def presentable(entry: Rejected, names: Sequence[str]) -> Rejected:
    """What is rejected, as clients are told. ``names`` are those of the parsers: of all of them if
    the sentence is unparsed; of several, one can be missing, and its name is before the reason."""
    prefix = ""
    if entry.code == "missing":
        names = [name for name in names if entry.message.startswith(f"{name}: ")]
        prefix = "".join(f"{name}: " for name in names[:1])
    elif entry.code != "unparsed":
        return entry
    if names and all(name in _OURS for name in names):
        return replace(entry, message=_ENDING.sub(r"\1", entry.message))
    return replace(entry, message=prefix + UNSAID)


def for_log(entry: Rejected, with_text: bool) -> dict[str, str]:
    """What clients are not told, as fields of the log; the message may quote a user."""
    raised = _RAISED.search(entry.message)
    fields = {"error": entry.code if raised is None else raised[1]}
    return {**fields, "message": entry.message} if with_text else fields


def without_long_trees(nbest: NBest, most_tokens: int) -> NBest:
    """A parser's list, in which trees of more tokens are rejected."""
    # <eos> is one more.
    long = [each for each in nbest.candidates if len(each.tokens) >= most_tokens]
    if not long:
        return nbest
    message = f"more tokens than max_tree_tokens = {most_tokens}"
    short = (each for each in nbest.candidates if len(each.tokens) < most_tokens)
    rejected = (each.rejected("too-long", message) for each in long)
    return replace(nbest, candidates=tuple(short), rejected=(*nbest.rejected, *rejected))
