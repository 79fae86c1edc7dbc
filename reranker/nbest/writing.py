"""The text of an n-best file in any dialect, from NBests.

The text is lossless where the dialect can carry it: without part-of-speech nodes tags are lost, in
linearised trees the words too (``tokens_text`` keeps both), in ``trees`` all but the first
candidate. Rejected candidates are left out.
"""

from __future__ import annotations

from reranker.errors import InputError
from reranker.files.visible import shown_id
from reranker.nbest.data import Candidate, NBest
from reranker.nbest.dialects.registry import DIALECTS, load
from reranker.trees.tree import UNKNOWN_TAG

MOST_LINES = 100_000
"""Limit for the lines of a list, in formats that fill up short lists."""


def list_text(nbest: NBest, position: int, format_name: str, beam: int | None = None) -> str:
    """Return the text of a list, line breaks included; ``position`` counts lists from 0.

    ``beam`` is the number of lines for formats that need it; blank lines fill up short lists.
    Raises InputError if ``beam`` is missing or the list is longer.
    """
    text = load(format_name).write(nbest, position)
    if not DIALECTS[format_name].needs_beam:
        return text
    if beam is None:
        raise InputError(f"format {format_name} needs 'beam', the number of lines of a list")
    count = len(nbest.candidates)
    if count > beam:
        name = shown_id(nbest.id, position + 1)
        raise InputError(f"list {name} has {count} candidates, more than the beam of {beam}")
    return text + "\n" * (beam - count)


def tokens_text(nbest: NBest) -> str:
    """Return the sentence as ``word<TAB>tag`` lines and a blank one, with the first candidate's
    tags if the sentence has none."""
    words = nbest.words
    tags = nbest.sentence.tags if nbest.sentence else ()
    if not tags and nbest.candidates:
        tags = _tags(nbest.candidates[0])
    pairs = zip(words, tags or (UNKNOWN_TAG,) * len(words), strict=True)
    return "".join(f"{word}\t{tag}\n" for word, tag in pairs) + "\n"


def _tags(candidate: Candidate) -> tuple[str, ...]:
    if candidate.tags is not None:
        return candidate.tags
    tags = tuple(candidate.tree.word_tags())
    return tags if len(tags) == len(candidate.words) else ()
