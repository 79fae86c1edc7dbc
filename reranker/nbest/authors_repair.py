"""Broken trees of seq2seq parsers, repaired as Suzuki et al. (2018) do.

The rules follow ``decode.pl`` in nttcslab-nlp/strong_s2s_baseline_parser, so that figures are
comparable with theirs. Labels of closing brackets are ignored. Our own repair
(``reranker.nbest.notation``) keeps more of a tree.
"""

from __future__ import annotations

from reranker.errors import TreeError
from reranker.nbest.notation import PLACEHOLDER, Skeleton, check_length, linearized, own_tag

DUMMY = "DUMMY"


def read_as_authors(text: str, count: int | None = None) -> Skeleton:
    """Return the skeleton of a linearised candidate, with ``count`` words if given.

    Missing words are added at the end. Surplus words are dropped, as is every bracket that opens
    after the last word, together with the next closing one. Then missing closing brackets are added
    at the end, and a ``DUMMY`` is opened at the start for each surplus one. Raises TreeError if the
    result is still not a tree (``unbalanced``) or has no words (``empty``).
    """
    tokens = [token for token in linearized(text) if "<unk>" not in token]
    # Where closing brackets have labels, one that stands alone is a word.
    are_labelled = any(token[0] == ")" and len(token) > 1 for token in tokens)
    kinds = [_kind(token, are_labelled) for token in tokens]
    words = kinds.count("word")
    fault: TreeError | None = None
    pieces = list(zip(kinds, tokens, strict=True))
    if count is not None and words != count:
        fault = TreeError("wrong-length", f"{words} words where the list has {count}")
        pieces = _without_surplus(pieces, count) + [("word", PLACEHOLDER)] * (count - words)
    missing = sum((kind == "(") - (kind == ")") for kind, _ in pieces)
    if missing and fault is None:
        many = "few" if missing > 0 else "many"
        fault = TreeError("unbalanced", f"{abs(missing)} closing bracket(s) too {many}")
    pieces = [("(", "(" + DUMMY)] * -missing + pieces + [(")", ")")] * missing
    return _skeleton(pieces, fault)


def _kind(token: str, are_labelled: bool) -> str:
    is_bracket = token[0] in "()" and (len(token) > 1 or not are_labelled)
    return token[0] if is_bracket else "word"


def _without_surplus(pieces: list[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    kept = []
    words = dropped = 0
    for kind, token in pieces:
        words += kind == "word"
        if words >= count and kind == "(":
            dropped += 1
        elif dropped and kind == ")":
            dropped -= 1
        elif kind != "word" or words <= count:
            kept.append((kind, token))
    return kept


def _skeleton(pieces: list[tuple[str, str]], fault: TreeError | None) -> Skeleton:
    skeleton = Skeleton(fault=fault)
    depth = 0
    for kind, token in pieces:
        if kind == "word":
            skeleton.add_word(PLACEHOLDER if token in "()" else token, own_tag(token))
        elif kind == "(":
            skeleton.open(token[1:])
            depth += 1
        elif depth:
            skeleton.close("")
            depth -= 1
        else:
            raise TreeError("unbalanced", "a bracket is closed before it is opened")
    skeleton.finish()
    check_length(skeleton)
    return skeleton
