"""NBests -> the text of an n-best file, in any dialect.

Lossless where the dialect can carry it: without part-of-speech nodes tags are lost, in linearised
trees the words too (``tokens_text`` keeps both for ``--tokens``), in ``trees`` all but the first
candidate. Rejected candidates are left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable

from reranker.errors import InputError
from reranker.nbest.data import UNKNOWN_TAG, Candidate, NBest
from reranker.nbest.notation import PLACEHOLDER, PUNCTUATION, with_root
from reranker.trees.linearize import is_word


def list_text(nbest: NBest, position: int, format_name: str, beam: int | None = None) -> str:
    """The text of a list, line breaks included; ``position`` counts lists from 0.

    ``beam`` is K for ``opennmt``. Raises InputError for a list longer than that.
    """
    if format_name == "opennmt":
        if beam is None:
            raise InputError("--to opennmt needs --to-beam K")
        return _opennmt(nbest, beam)
    return _WRITERS[format_name](nbest, position)


def tokens_text(nbest: NBest) -> str:
    """The sentence as ``word<TAB>tag`` lines and a blank one; tags, if the sentence has none, of
    the first candidate."""
    words: Iterable[str] = ()
    tags: Iterable[str] = ()
    if nbest.sentence:
        words, tags = nbest.sentence
    elif nbest.candidates:
        words = nbest.candidates[0].words
    if not tags and nbest.candidates:
        tags = _tags(nbest.candidates[0])
    tags = list(tags) or [UNKNOWN_TAG] * len(list(words))
    pairs = zip(words, tags, strict=True)
    return "".join(f"{word}\t{tag}\n" for word, tag in pairs) + "\n"


def _tags(candidate: Candidate) -> list[str]:
    if candidate.tags is not None:
        return list(candidate.tags)
    tags = [tag for tag in candidate.tree.tags() if tag != "-NONE-"]
    return tags if len(tags) == len(candidate.words) else [UNKNOWN_TAG] * len(candidate.words)


def bracketed(candidate: Candidate) -> str:
    """The tree with part-of-speech nodes: as it came, if it came so."""
    return candidate.text if candidate.tags is None else candidate.tree.to_string()


def bare(candidate: Candidate) -> str:
    """The tree without part-of-speech nodes, as RNNG prints it."""
    text = " ".join(")" if token[0] == ")" else token for token in with_root(candidate.tokens))
    return text.replace(" )", ")")


def linearized(candidate: Candidate) -> str:
    """The tree as a seq2seq parser writes it: ``(S (NP XX )NP ... . )S``."""
    return " ".join(
        PLACEHOLDER if is_word(token) and token not in PUNCTUATION else token
        for token in with_root(candidate.tokens)
    )


def _bllip(nbest: NBest, position: int) -> str:
    return _counted(nbest, f"\t{_one_word(nbest.id)}", lambda score: score / math.log(2))


def _choe_charniak(nbest: NBest, position: int) -> str:
    return _counted(nbest, "", lambda score: 0.0 - score)


def _counted(nbest: NBest, header: str, convert: Callable[[float], float]) -> str:
    lines = [f"{len(nbest.candidates)}{header}"]
    is_scored = any(one.parser_score is not None for one in nbest.candidates)
    for one in nbest.candidates:
        if is_scored:
            lines.append("nan" if one.parser_score is None else f"{convert(one.parser_score):.15g}")
        lines.append(bracketed(one))
    return "\n".join([*lines, "", ""])


def _berkeley(nbest: NBest, position: int) -> str:
    return "".join(f"{_score(one)}\t{bracketed(one)}\n" for one in nbest.candidates) + "\n"


def _rnng(nbest: NBest, position: int) -> str:
    return "".join(f"{position} ||| {_score(one)} ||| {bare(one)}\n" for one in nbest.candidates)


def _seq2seq(nbest: NBest, position: int) -> str:
    lines = [str(len(nbest.candidates)), *(linearized(one) for one in nbest.candidates)]
    return "\n".join([*lines, ""])


def _opennmt(nbest: NBest, beam: int) -> str:
    if len(nbest.candidates) > beam:
        raise InputError(
            f"list {nbest.id} has {len(nbest.candidates)} candidates, more than the {beam} lines "
            "of --to-beam"
        )
    lines = [linearized(one) for one in nbest.candidates]
    return "\n".join([*lines, *[""] * (beam - len(lines)), ""])


def _fairseq(nbest: NBest, position: int) -> str:
    words = nbest.candidates[0].words if nbest.candidates else []
    if nbest.sentence:
        words = list(nbest.sentence.words)
    lines = [f"S-{position}\t{' '.join(words)}"]
    for one in nbest.candidates:
        score = math.nan if one.parser_score is None else one.parser_score / math.log(2)
        per_token = score / (len(one.tokens) + 1)
        lines.append(f"H-{position}\t{per_token}\t{linearized(one)}")
        lines.append(f"P-{position}\t{score:.15g}")
    return "\n".join([*lines, ""])


def _trees(nbest: NBest, position: int) -> str:
    # No blank line, which between trees can mean nothing at all.
    return (bracketed(nbest.candidates[0]) if nbest.candidates else "(TOP )") + "\n"


def _jsonl(nbest: NBest, position: int) -> str:
    words = nbest.candidates[0].words if nbest.candidates else []
    tags: list[str] = []
    if nbest.sentence:
        words, tags = list(nbest.sentence.words), list(nbest.sentence.tags)
    data = {
        "id": nbest.id,
        "tokens": words,
        **({"tags": tags} if tags else {}),
        "candidates": [
            {"tree": bracketed(one), "score": one.parser_score} for one in nbest.candidates
        ],
    }
    return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


def _score(candidate: Candidate) -> str:
    return "nan" if candidate.parser_score is None else repr(candidate.parser_score)


def _one_word(name: str) -> str:
    return "_".join(name.split()) or "x"


_WRITERS: dict[str, Callable[[NBest, int], str]] = {
    "bllip": _bllip,
    "choe-charniak": _choe_charniak,
    "berkeley": _berkeley,
    "rnng": _rnng,
    "fairseq": _fairseq,
    "seq2seq": _seq2seq,
    "trees": _trees,
    "jsonl": _jsonl,
}
