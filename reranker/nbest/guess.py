"""Messages about files that do not look like n-best lists."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from reranker.errors import InputError
from reranker.nbest.data import NBest
from reranker.nbest.notation import may_be_tree
from reranker.nbest.words import printable

HINT_LISTS = 300

_SHOWN = 60
_LOOKED_AT = 4096  # bytes

_ZIP = b"PK\x03\x04"
_KINDS = {
    b"\x1f\x8b": "a gzip file: unpack it first",
    b"\x28\xb5\x2f\xfd": "a zstd file: unpack it first",
    b"BZh": "a bzip2 file: unpack it first",
    b"\xfd7zXZ": "a xz file: unpack it first",
    b"7z\xbc\xaf": "a 7-Zip file: unpack it first",
    b"\xff\xfe\0\0": "UTF-32: convert it to UTF-8 first",
    b"\0\0\xfe\xff": "UTF-32: convert it to UTF-8 first",
    b"\xff\xfe": "UTF-16: convert it to UTF-8 first",
    b"\xfe\xff": "UTF-16: convert it to UTF-8 first",
    b"\x89PNG": "binary data (a PNG image)",
    b"\xff\xd8\xff": "binary data (a JPEG image)",
    b"GIF8": "binary data (a GIF image)",
    b"%PDF": "binary data (a PDF document)",
    _ZIP: "binary data (a ZIP archive)",
    b"SQLite format 3\0": "binary data (an SQLite database)",
    b"\x7fELF": "binary data (a program)",
}
_CHECKPOINT = "binary data (a PyTorch checkpoint)"
_UNKNOWN = "binary data"
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_CONLL = re.compile(r"[0-9]+(?:-[0-9]+)?\t\S[^\t]*(?:\t[^\t]*){4,}")
_JSON = re.compile(r'\{\s*(?:"|$)|\[\s*(?:[\[\]{"]|-?[0-9][-0-9.,eE\s]*\]?$|$)')
_NUMBERS = re.compile(r"(?=[^0-9]*+[0-9])[-+0-9.,;eE\s]++")
_MARKUP = re.compile(r"<(?!s>|unk>)[?!a-zA-Z]")
_NO_BRACKETS = re.compile(r"[^\s()]+")
# The beginning of a tree: a constituent of the Penn Treebank within another.
_NESTED = re.compile(
    r"\([A-Z]*1?\s*\((?:ADJP|ADVP|FRAG|INTJ|NML|NP|PP|QP|S|SBAR|SBARQ|SINV|SQ|UCP|VP|WHNP|X)\b"
)
_LETTERS = re.compile(r"[^\W\d_]{2}")


def not_nbest(
    name: str,
    head: Sequence[str],
    line: int,
    text: str,
    expected: str = "the lists of a known format",
) -> InputError:
    """The error for a file whose line ``line`` holds ``text`` where n-best lists should be.

    Its message says what the head looks like or, if that is unknown, what is ``expected``.
    """
    kind = guess(head)
    reason = f"looks like {kind}" if kind else f"expected {expected}"
    text = printable(text.strip()[:_SHOWN])
    return InputError(f"{name}:{line}: not an n-best list: {reason}; found {text!r}")


def guess(head: Sequence[str]) -> str:
    """What a file with these first lines looks like, and what to do about it; '' if unknown."""
    start = "".join(head)[:_LOOKED_AT].encode("utf-8", "surrogateescape")
    if kind := _binary(start):
        return kind
    lines = [line.strip() for line in head if line.strip()]
    first = lines[0] if lines else ""
    if _JSON.match(first):
        return "JSON, but format jsonl has one object a line, with 'candidates'"
    if _MARKUP.match(first):
        return "XML or HTML"
    if 2 * sum(bool(_CONLL.match(line)) for line in lines) > len(lines):
        return "CoNLL columns: their dependencies are not constituency trees"
    if 2 * sum(map(_is_prose, lines)) > len(lines):
        return "plain sentences: parse them first, with rerank parse"
    return "numbers without trees" if lines and all(map(_NUMBERS.fullmatch, lines)) else ""


def not_text(name: str, start: str) -> InputError | None:
    """The error for a file that begins like this where text is expected, or None: anything that is
    neither of a known kind nor trees counts as text."""
    start = start[:_LOOKED_AT]
    kind = _binary(start.encode("utf-8", "surrogateescape"))
    if kind and kind != _UNKNOWN:
        advice = "; language models are named by --models" if kind == _CHECKPOINT else ""
        return InputError(f"{name}: not text: looks like {kind}{advice}")
    # Not even prose with many remarks has a bracket to four words, and any two together.
    if _NESTED.search(start) and 4 * start.count("(") >= len(_NO_BRACKETS.findall(start)):
        return InputError(f"{name}: not text: looks like trees; to rank them, rerank --nbest FILE")
    return None


def _binary(start: bytes) -> str:
    """What a file that is not UTF-8 text looks like, or ''."""
    is_pickle = _PICKLE.match(start) is not None
    is_zip = start.startswith(_ZIP)
    if (is_zip and b"/data.pkl" in start[:200]) or (is_pickle and b"torch" in start):
        return _CHECKPOINT
    for magic, kind in _KINDS.items():
        if start.startswith(magic):
            return kind
    if is_pickle:
        return "binary data (a Python pickle)"
    if _is_utf_16(start[::2], start[1::2]) or _is_utf_16(start[1::2], start[::2]):
        return "UTF-16: convert it to UTF-8 first"
    return _UNKNOWN if 20 * len(_CONTROL.findall(start)) > len(start) else ""


def _is_utf_16(upper: bytes, lower: bytes) -> bool:
    """Whether every ASCII character has a zero byte before or after it."""
    many = 10 * upper.count(0) > 9 * len(upper)
    return len(upper) > 3 and many and 10 * lower.count(0) < len(lower)


def _is_prose(line: str) -> bool:
    """Whether a line has words, and fewer brackets than a tree would have."""
    brackets = line.count("(")
    has_remark = brackets == 1 and not may_be_tree(line[line.index("(") :])
    return bool(_LETTERS.search(line)) and (4 * brackets < len(line.split()) or has_remark)


def with_hint(lists: Iterable[NBest], tell: Callable[[str], None]) -> Iterator[NBest]:
    """The lists; ``tell`` gets a hint if none of the first ``HINT_LISTS`` has two candidates."""
    seen: list[tuple[int, list[str]]] = []
    for nbest in lists:
        yield nbest
        if len(seen) < HINT_LISTS:
            words = nbest.candidates[0].words if nbest.candidates else []
            seen.append((len(nbest.candidates) + len(nbest.rejected), words))
            if len(seen) == HINT_LISTS and (hint := _hint(seen)):
                tell(hint)
    if len(seen) < HINT_LISTS and (hint := _hint(seen)):
        tell(hint)


def _hint(seen: Sequence[tuple[int, list[str]]]) -> str | None:
    """``seen`` has the number of candidates and the words of each list; None if there are not two
    lists, or if one has two candidates."""
    if len(seen) < 2 or any(candidates > 1 for candidates, _ in seen):
        return None
    lists = "every list" if len(seen) < HINT_LISTS else f"each of the first {HINT_LISTS} lists"
    are_alike = [
        words == next_words
        for (_, words), (_, next_words) in itertools.pairwise(seen)
        if words and next_words
    ]
    # Two candidates a sentence make every other pair of neighbours alike.
    if 3 * sum(are_alike) <= len(are_alike):
        return f"{lists} has one candidate"
    return (
        f"{lists} has one candidate, and neighbouring trees share their words: if they are "
        "n-best lists, with a blank line after each, try format berkeley"
    )
