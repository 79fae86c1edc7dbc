"""Which dialect a file is written in, from its first lines."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Sequence

from reranker.nbest.dialects.counted import HEADER
from reranker.nbest.dialects.numbered import FAIRSEQ_LINE, RNNG_LINE
from reranker.nbest.dialects.plain import SCORED
from reranker.nbest.notation import Notation
from reranker.trees.linearize import is_word
from reranker.trees.tree import BRACKET_TOKEN

FORMATS = {
    "bllip": "BLLIP/Charniak: N<TAB>id, then scores and trees; also its Python interface's",
    "choe-charniak": "N, then N trees, each after its loss or not",
    "berkeley": "score and tree on a line, a blank line after each list",
    "rnng": "id ||| score ||| tree, with or without part-of-speech nodes",
    "fairseq": "S-id, H-id, P-id lines of fairseq-generate, linearised trees",
    "seq2seq": "linearised trees, one a line, in lists after a count or before a blank line",
    "opennmt": "linearised trees, --beam K lines a sentence",
    "trees": "one tree a sentence, on a line or pretty-printed",
    "jsonl": "one JSON object a sentence, ours (docs/formats.md)",
}

_LAST_WORD = re.compile(r"([^()\s]++)\s*+\)")  # of a constituent
_CLOSER_WITH_LABEL = re.compile(r"(?:^|\s)\)_*[^\s()_]")


def detect_format(head: Sequence[str]) -> str:
    """A key of ``FORMATS``; ``bllip`` for text that is none of them, whose reader says so."""
    lines = [line.strip() for line in head if line.strip()]
    first = lines[0] if lines else ""
    if first[:1] == "{":
        return "jsonl"
    if any(FAIRSEQ_LINE.fullmatch(line) and "\t" in line for line in lines):
        return "fairseq"
    if RNNG_LINE.match(first):
        return "rnng"
    if header := HEADER.fullmatch(first):
        trees = [line for line in lines if line[0] == "(" or line.startswith("<s>")]
        if trees and _is_linearized(trees):
            return "seq2seq"
        return "bllip" if header[3] or header[4] else "choe-charniak"
    if SCORED.match(first):
        return "berkeley"
    if _is_linearized(lines):
        return "seq2seq"
    if first[:1] != "(":
        return "bllip"
    return "berkeley" if _are_lists(head) else "trees"


def detect_notation(format_name: str, head: Iterable[str]) -> Notation:
    """How the format's candidates are written; where both are in use, most of the head decides."""
    if format_name in ("seq2seq", "opennmt", "fairseq"):
        return Notation.LINEARIZED
    if format_name in ("bllip", "choe-charniak", "berkeley"):
        return Notation.BRACKETS
    texts = list(_candidates(format_name, head))
    if _is_linearized(texts):
        return Notation.LINEARIZED
    # A tree of one word can be read both ways and says nothing.
    is_bare = list(map(_is_bare, texts))
    bracketed = sum(t.count("(") > 3 and not b for t, b in zip(texts, is_bare, strict=True))
    return Notation.BARE if any(is_bare) and sum(is_bare) >= bracketed else Notation.BRACKETS


def _candidates(format_name: str, head: Iterable[str]) -> Iterable[str]:
    for line in head:
        if format_name == "rnng":
            yield line.rpartition("|||")[2]
        elif format_name == "jsonl":
            try:
                data = json.loads(line)
                for one in data.get("candidates") or data.get("ranking") or ():
                    yield str(one["tree"] if isinstance(one, dict) else one)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                continue
        elif line.strip():
            yield line


def _is_linearized(texts: Sequence[str]) -> bool:
    return 2 * sum(bool(_CLOSER_WITH_LABEL.search(text)) for text in texts) > len(texts)


def _are_lists(head: Sequence[str]) -> bool:
    """Whether there are blank lines and, between them, different trees of the same words:
    Berkeley's lists without scores."""
    trees = [(line.strip(), _LAST_WORD.findall(line)) for line in head]
    pairs = [(one, other) for one, other in itertools.pairwise(trees) if one[1] and other[1]]
    same = sum(one[1] == other[1] and one[0] != other[0] for one, other in pairs)
    return ("", []) in trees and 2 * same > len(pairs)


def _is_bare(text: str) -> bool:
    """Whether a word has sisters, which none has in a part-of-speech node."""
    tokens = BRACKET_TOKEN.findall(text)
    return any(
        is_word(token) and (before[0] != "(" or len(before.strip()) == 1 or after != ")")
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
    )
