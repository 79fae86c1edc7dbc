"""The beginning of a file, or a later part of it, and the shapes that it can have: trees, lines of
one form, JSON, markup, tables, words with tags."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property

Recognise = Callable[["FileSample"], bool]

LONGEST_LINE = 2_000
_TAIL = 8  # lines
_REMARK = re.compile(r"#|%%|;;|//")
_NESTED = re.compile(r"\([^\s()]*\s*\(\s*[^\s()]+[\s(]")
# The words before a tree in n-best lists: its place, and scores with letters.
_BEFORE_TREES = r"<s>|[A-Z]-[0-9]++|[-+]?(?:(?i:nan|inf(?:inity)?)|[0-9.]++(?:[eE][-+]?[0-9]++)?)"
_TREE_LINE = re.compile(
    rf"^[^\S\n]*+(?:(?:{_BEFORE_TREES})[^\S\n]++)*+[^A-Za-z(\n]*+\(", re.MULTILINE
)
# A word alone with its label, or a label of Penn's: capital letters in brackets have neither.
_LABELLED = re.compile(
    r"\([^\s()]+\s+[^\s()]+\s*\)|"
    r"\([^\s()]*\s*\((?:ADJP|ADVP|FRAG|INTJ|NML|NP|PP|QP|S|SBAR|SBARQ|SINV|SQ|UCP|VP|WHNP|X)\b"
)
_NO_BRACKETS = re.compile(r"[^\s()]+")


class FileSample:
    """The beginning of a file, or a later part of it, without Markdown's blocks of code, which show
    other kinds of files."""

    def __init__(self, text: str, is_first: bool = True) -> None:
        self.is_first = is_first
        self.text = _without_fenced(text) if "```" in text or "~~~" in text else text

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines that are not blank, without surrounding space; long lines are cut."""
        lines = (line[:LONGEST_LINE].strip() for line in self.text.splitlines())
        return [line for line in lines if line]

    @cached_property
    def unremarked(self) -> list[str]:
        """Return the lines without remarks."""
        return [line for line in self.lines if not _REMARK.match(line)]

    @cached_property
    def has_trees(self) -> bool:
        """Return whether the text looks like trees: lines begin with brackets, there is a bracket
        to four words, some brackets are nested, and one holds a word and its label or has a label
        of Penn's.

        Not even prose with many remarks has all of this. If a licence comes first, the latter half
        of the lines counts.
        """
        half = len(self.lines) // 2 if len(self.lines) > _TAIL else 0
        return "(" in self.text and any(map(_are_trees, {self.text, "\n".join(self.lines[half:])}))

    def has(self, are_of_kind: Callable[[str], object], share: float) -> bool:
        """Return whether ``are_of_kind`` is true of this share of the lines. Since a licence or a
        remark may come first, a greater share of the last lines is enough, too."""
        parts: list[tuple[Sequence[str], float]] = [(self.lines, share)]
        if self.is_first and share <= 0.5 and len(self.lines) > _TAIL:
            parts += [(self.lines[len(self.lines) // 2 :], max(share, 0.8))]
            parts += [(self.lines[-_TAIL:], 1.0)]
        return any(
            lines and sum(map(bool, map(are_of_kind, lines))) >= least * len(lines)
            for lines, least in parts
        )


def _without_fenced(text: str) -> str:
    kept: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = line.lstrip(" ")[:3]
        if fence:
            fence = "" if mark == fence else fence
        elif mark in ("```", "~~~"):
            fence = mark
        else:
            kept.append(line)
    return "".join(kept)


def _are_trees(text: str) -> bool:
    return (
        4 * text.count("(") >= len(_NO_BRACKETS.findall(text))
        and 4 * len(_TREE_LINE.findall(text)) > text.count("\n")
        and _NESTED.search(text) is not None
        and _LABELLED.search(text) is not None
    )


def begins(pattern: str) -> Recognise:
    """Return a recogniser of files that begin with the pattern, after white space."""
    compiled = re.compile(pattern)
    return lambda sample: (
        sample.is_first and bool(compiled.match(sample.text.lstrip()[:LONGEST_LINE]))
    )


def rows(row: str, *, mark: str = "", share: float = 0.5, least: int = 1) -> Recognise:
    """Return a recogniser of files of at least ``least`` lines in which this share of lines match
    ``row``, if a line somewhere matches ``mark``."""
    compiled, marking = re.compile(row), re.compile(mark)
    return lambda sample: (
        len(sample.lines) >= least
        and (not mark or any(map(marking.match, sample.lines)))
        and sample.has(compiled.match, share)
    )


def within(shape: Recognise, pattern: str) -> Recognise:
    """Return a recogniser of files of this shape in which the pattern occurs."""
    compiled = re.compile(pattern)
    return lambda sample: compiled.search(sample.text) is not None and shape(sample)


def is_json(sample: FileSample) -> bool:
    """Return whether a file is JSON, one value or one per line, whole or cut off."""
    text = sample.text.strip()
    if sample.is_first and text[:1] in ("{", "["):
        if _JSON_START.match(text):
            return True
        try:
            value = json.loads(text)
            return isinstance(value, dict) or len(value) > 1  # [1] is a footnote
        except (ValueError, RecursionError):
            pass
    return _has_json_rows(sample)


_STRING = r'"(?:[^"\\\n]|\\.)*+"'
_JSON_START = re.compile(rf"(?:\[\s*+)*+(?:\{{\s*{_STRING}\s*:|\[\s*{_STRING}\s*,\s*{_STRING})")
_has_json_rows = rows(
    rf'[\]}}]+[\]}},]*$|[\[{{]+$|\{{\s*"|\[\s*[\[{{"]|{_STRING}\s*(?::|,?$)|-?[0-9.]+,?$',
    mark=rf'[\[{{\s]*{_STRING}\s*:\s*(?:["\[{{0-9-]|true|false|null)',
    share=0.9,
)


def is_markup(sample: FileSample) -> bool:
    """Return whether a file is XML, SGML or HTML rather than text with tags here and there."""
    text = _NO_MARKUP.sub("", sample.text).strip()
    if sample.is_first and _DECLARED.match(text):
        return True
    closed = {match[1] for match in _CLOSING.finditer(text)}
    first = _TAG.match(text) if sample.is_first else None
    if first and first[1].lower() not in _IN_MARKDOWN and (first[2] or first[1] in closed):
        return first[1] in closed or "=" in first[0]
    tags = [match for match in _TAG.finditer(text) if match[1] in closed or match[0].endswith("/>")]
    if first and text.endswith(f"</{first[1]}>") and 8 * len(tags) >= len(text.split()):
        return True
    return bool(closed) and 12 * len(tags) >= len(text.split()) and _has_markup_rows(sample)


# Comments, which Markdown has, too, and the marks of sentences in language models' corpora.
_NO_MARKUP = re.compile(r"\A(?:\s*+<!--.*?-->)+|</?s>", re.DOTALL)
_DECLARED = re.compile(r"<\?xml\b|<!DOCTYPE\b|<html\b", re.IGNORECASE)
_TAG = re.compile(r"<([A-Za-z][\w:.-]*+)(\s[^<>]*)?>")
_CLOSING = re.compile(r"</([A-Za-z][\w:.-]*+)\s*>")
_has_markup_rows = rows(r"</?[A-Za-z][\w:.-]*+(?:\s[^<>]*)?>|<[!?]", share=0.6)
_IN_MARKDOWN = frozenset(
    ("a", "b", "br", "center", "details", "div", "em", "font", "h1", "h2", "h3", "hr", "i", "img",
     "kbd", "p", "picture", "pre", "span", "strong", "sub", "sup", "table", "u")
)  # fmt: skip


def has_trees_beside(sample: FileSample) -> bool:
    """Return whether half of the lines, or more, hold a tree and something else in words."""
    first = next((line for line in sample.unremarked if "(" in line), "(")
    if first[0] != "(" and _TREE_LINE.match(first):
        return False  # an n-best list, in which a later score may be broken
    return sample.has(_has_tree_beside_words, 0.5)


def _has_tree_beside_words(line: str) -> bool:
    """Return whether a line has a tree in one column, or at the end of one, and words elsewhere."""
    is_cut = len(line) == LONGEST_LINE
    has_tree = False
    others: list[str] = []
    for column in (each.strip('" ') for each in _COLUMN.split(line)):
        is_word = _TAGGED_WORD.fullmatch(column) is not None
        is_whole = is_cut or _TREE_END.search(column) is not None
        place = 0 if is_word else _nested_tree(column) if is_whole else None
        # Of a tree over several lines, a line may end with another constituent.
        is_tree = place is not None and (place == 0 or column[0] != "(")
        has_tree = has_tree or is_tree
        others.append(column[:place] if is_tree else column)
    rest = " ".join(others)
    brackets = rest.count("("), rest.count(")")
    is_inside = brackets[0] != brackets[1] or (line[0] == "(" and brackets[0] > 0)
    words = (word for word in rest.split() if not _BEFORE_A_TREE.fullmatch(word))
    return has_tree and not is_inside and any(map(_LETTER.search, words))


def _nested_tree(text: str) -> int | None:
    """Return the place of a tree with nested brackets that reaches the end of a text, or None."""
    if (match := _NESTED.search(text)) is None:
        return None
    tree = text[match.start() :]
    is_tree = 4 * tree.count("(") >= len(_NO_BRACKETS.findall(tree)) and _LABELLED.search(tree)
    return match.start() if is_tree else None


_COLUMN = re.compile(r'\t|\|\|\||"[,;|]"?|[,;|]"')
_TAGGED_WORD = re.compile(r"\([A-Z][A-Z$-]*+ [^\s()]++\)")
_TREE_END = re.compile(r"\)[^\s()]*$")  # a linearised tree's last label is behind the bracket
_LETTER = re.compile(r"[^\W\d_]")
_BEFORE_A_TREE = re.compile(_BEFORE_TREES)


def is_table(sample: FileSample) -> bool:
    """Return whether nearly all lines of a file have the same number of columns."""
    if sample.has_trees or len(sample.unremarked) < 2:
        return False
    widths = [line.count("\t") for line in sample.unremarked]
    if len(widths) > 2 and _common_width(widths) > 0 and not _has_list(sample, "\t"):
        return True
    return any(
        each in sample.text and _is_separated(sample.text, each) and not _has_list(sample, each)
        for each in ",;|"
    )


def _has_list(sample: FileSample, delimiter: str) -> bool:
    return any(_TREE_LINE.match(line) for line in sample.unremarked if f"{delimiter}(" in line)


def _common_width(widths: Sequence[int]) -> int:
    """Return the width that nine of ten lines have; 0 if there is none."""
    (width, many), *_ = Counter(widths).most_common(1)
    return width if many >= 0.9 * len(widths) else 0


_LOOSE = {",": re.compile(r",[ \n]"), ";": re.compile(r";[ \n]"), "|": re.compile(r" \||\| ")}
_QUOTED = re.compile(r'"[^"]*"')


def _is_separated(text: str, delimiter: str) -> bool:
    """Return whether nearly all rows have the same number of columns: at least three, or two after
    a heading without spaces. In prose, a space follows a comma."""
    bare = _QUOTED.sub("", text)
    if 4 * len(_LOOSE[delimiter].findall(bare)) > bare.count(delimiter):
        return False
    try:
        cells = [*csv.reader(text.splitlines(keepends=True), delimiter=delimiter)]
    except csv.Error:
        return False
    widths = [len(row) for row in cells if row and row[0][:1] != "#"]
    if len(widths) < 2:
        return False
    has_heading = len(widths) > 4 and not any(" " in cell for cell in cells[0])
    return _common_width(widths) >= (2 if has_heading else 3)


def is_tagged(sample: FileSample) -> bool:
    """Return whether nearly all words carry their tags: ``The/DT``, ``The_DT``, ``the/at``."""
    words = [word for word in sample.text[:LONGEST_LINE].split() if not _NO_WORD.fullmatch(word)]
    if sample.has_trees or len(words) < 3:
        return False
    if sum(map(bool, map(_TAGGED.match, words))) >= 0.9 * len(words):
        return True
    lower = [match[1] for match in map(_BROWN.match, words) if match]
    return len(words) > 7 and len(lower) >= 0.9 * len(words) and not {"nn", "at"}.isdisjoint(lower)


_NO_WORD = re.compile(r"[\[\]]|</?s>|={10,}")
_TAGGED = re.compile(r"[^\s/_][^\s/]*(?:/|_)(?:[A-Z]+\$?(?:[|-][A-Z$]+)*|[.,:`'\"()#$-]+)$")
_BROWN = re.compile(r"[^\s/]+/([a-z]{2,4}[$*+a-z-]*|[.,:`'()*-]+)$")


def is_encoded(sample: FileSample) -> bool:
    """Return whether a text is encoded as mail programs do (``caf=C3=A9``, or ``=`` at ends of
    lines and for signs)."""
    if _ENCODED_LETTER.search(sample.text):
        return True
    return (
        _SOFT_BREAK.search(sample.text) is not None
        and _ENCODED_SIGN.search(sample.text) is not None
    )


_ENCODED_LETTER = re.compile(r"=(?:C[2-9A-F]|D[0-9A-F]|E[0-9A-F]=[89AB][0-9A-F])=[89AB][0-9A-F]")
_SOFT_BREAK = re.compile(r"[^\s=]=\r?$", re.MULTILINE)
_ENCODED_SIGN = re.compile(r"=(?:20\r?$|3D|09|[89A-F][0-9A-F])", re.MULTILINE)
