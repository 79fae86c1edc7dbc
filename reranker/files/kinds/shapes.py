"""Recognisers of kinds of files that need more than a few regular expressions."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from itertools import pairwise

from reranker.files.kinds.start import (
    BEFORE_TREES,
    LONGEST_LINE,
    TREE_LINE,
    Recognise,
    Start,
    begins,
    nested_tree,
    rows,
)


def is_json(start: Start) -> bool:
    """Return whether a file is JSON, one value or one a line, whole or cut off."""
    text = start.text.strip()
    if start.is_first and text[:1] in ("{", "["):
        if _JSON_START.match(text):
            return True
        try:
            value = json.loads(text)
            return isinstance(value, dict) or len(value) > 1  # [1] is a footnote
        except (ValueError, RecursionError):
            pass
    return _has_json_rows(start)


_STRING = r'"(?:[^"\\\n]|\\.)*+"'
_JSON_START = re.compile(rf"(?:\[\s*+)*+(?:\{{\s*{_STRING}\s*:|\[\s*{_STRING}\s*,\s*{_STRING})")
_has_json_rows = rows(
    rf'[\]}}]+[\]}},]*$|[\[{{]+$|\{{\s*"|\[\s*[\[{{"]|{_STRING}\s*(?::|,?$)|-?[0-9.]+,?$',
    mark=rf'[\[{{\s]*{_STRING}\s*:\s*(?:["\[{{0-9-]|true|false|null)',
    share=0.9,
)


def is_markup(start: Start) -> bool:
    """Return whether a file is XML, SGML or HTML rather than text with tags here and there."""
    text = _NO_MARKUP.sub("", start.text).strip()
    if start.is_first and _DECLARED.match(text):
        return True
    closed = {match[1] for match in _CLOSING.finditer(text)}
    first = _TAG.match(text) if start.is_first else None
    if first and first[1].lower() not in _IN_MARKDOWN and (first[2] or first[1] in closed):
        return first[1] in closed or "=" in first[0]
    tags = [match for match in _TAG.finditer(text) if match[1] in closed or match[0].endswith("/>")]
    if first and text.endswith(f"</{first[1]}>") and 8 * len(tags) >= len(text.split()):
        return True
    return bool(closed) and 12 * len(tags) >= len(text.split()) and _has_markup_rows(start)


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


def has_trees_beside(start: Start) -> bool:
    """Return whether half of the lines, or more, hold a tree and something else in words."""
    first = next((line for line in start.unremarked if "(" in line), "(")
    if first[0] != "(" and TREE_LINE.match(first):
        return False  # an n-best list, in which a later score may be broken
    return any(
        lines and sum(map(_has_tree_beside_words, lines)) >= least * len(lines)
        for lines, least in start.parts(0.5)
    )


def _has_tree_beside_words(line: str) -> bool:
    """Return whether a line has a tree in one column, or at the end of one, and words elsewhere."""
    is_cut = len(line) == LONGEST_LINE
    has_tree = False
    others: list[str] = []
    for column in (each.strip('" ') for each in _COLUMN.split(line)):
        is_word = _TAGGED_WORD.fullmatch(column) is not None
        is_whole = is_cut or _TREE_END.search(column) is not None
        place = 0 if is_word else nested_tree(column) if is_whole else None
        # Of a tree over several lines, a line may end with another constituent.
        is_tree = place is not None and (place == 0 or column[0] != "(")
        has_tree = has_tree or is_tree
        others.append(column[:place] if is_tree else column)
    rest = " ".join(others)
    brackets = rest.count("("), rest.count(")")
    is_inside = brackets[0] != brackets[1] or (line[0] == "(" and brackets[0] > 0)
    words = (word for word in rest.split() if not _BEFORE_TREES.fullmatch(word))
    return has_tree and not is_inside and any(map(_LETTER.search, words))


_COLUMN = re.compile(r'\t|\|\|\||"[,;|]"?|[,;|]"')
_TAGGED_WORD = re.compile(r"\([A-Z][A-Z$-]*+ [^\s()]++\)")
_TREE_END = re.compile(r"\)[^\s()]*$")  # a linearised tree's last label is behind the bracket
_LETTER = re.compile(r"[^\W\d_]")
_BEFORE_TREES = re.compile(BEFORE_TREES)


def is_table(delimiter: str) -> Recognise:
    """Return a recogniser of tables with ``delimiter`` between their columns."""

    def recognise(start: Start) -> bool:
        lines = start.unremarked
        if start.has_trees or delimiter not in start.text or len(lines) < 2:
            return False
        if any(TREE_LINE.match(line) for line in lines if f"{delimiter}(" in line):
            return False  # an n-best list
        if delimiter == "\t":
            widths = [line.count("\t") for line in lines]
            (width, many), *_ = Counter(widths).most_common(1)
            return width > 0 and len(lines) > 2 and many >= 0.9 * len(lines)
        return _is_separated(start.text, delimiter)

    return recognise


_LOOSE = {",": re.compile(r",[ \n]"), ";": re.compile(r";[ \n]"), "|": re.compile(r" \||\| ")}
_QUOTED = re.compile(r'"[^"]*"')


def _is_separated(text: str, delimiter: str) -> bool:
    """Return whether nearly all rows have the same number of columns: at least three, or two after
    a heading without spaces. In prose, a space follows a comma."""
    bare = _QUOTED.sub("", text)
    if 4 * len(_LOOSE[delimiter].findall(bare)) > bare.count(delimiter):
        return False
    try:
        cells = [row for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter)]
    except csv.Error:
        return False
    widths = [len(row) for row in cells if row and row[0][:1] != "#"]
    if len(widths) < 2:
        return False
    (width, many), *_ = Counter(widths).most_common(1)
    least = 2 if len(widths) > 4 and not any(" " in cell for cell in cells[0]) else 3
    return width >= least and many >= 0.9 * len(widths)


def is_tagged(start: Start) -> bool:
    """Return whether nearly all words carry their tags: ``The/DT``, ``The_DT``, ``the/at``."""
    words = [word for word in start.text[:LONGEST_LINE].split() if word not in _NO_WORDS]
    if start.has_trees or len(words) < 3:
        return False
    upper = sum(map(bool, map(_TAGGED.match, words)))
    if upper >= 0.9 * len(words):
        return True
    lower = [match[1] for match in map(_BROWN.match, words) if match]
    return len(words) > 7 and len(lower) >= 0.9 * len(words) and not {"nn", "at"}.isdisjoint(lower)


_NO_WORDS = frozenset(("[", "]", "<s>", "</s>")) | {n * "=" for n in range(10, 60)}
_TAGGED = re.compile(r"[^\s/_][^\s/]*(?:/|_)(?:[A-Z]+\$?(?:[|-][A-Z$]+)*|[.,:`'\"()#$-]+)$")
_BROWN = re.compile(r"[^\s/]+/([a-z]{2,4}[$*+a-z-]*|[.,:`'()*-]+)$")


def are_vertical(start: Start) -> bool:
    """Return whether lines are a word and its tag, with a space between them."""
    if start.has_trees or "\t" in start.text:
        return False
    pairs = [line.split() for line in start.unremarked]
    return (
        len(pairs) > 3
        and sum(len(pair) in (2, 3) and pair[1] in _TAGS for pair in pairs) >= 0.9 * len(pairs)
        and sum(pair[0].isupper() for pair in pairs) < 0.5 * len(pairs)
    )


_TAGS = frozenset(
    ("CC", "CD", "DT", "EX", "FW", "IN", "JJ", "JJR", "JJS", "LS", "MD", "NN", "NNS", "NNP", "NNPS",
     "PDT", "POS", "PRP", "PRP$", "RB", "RBR", "RBS", "RP", "SYM", "TO", "UH", "VB", "VBD", "VBG",
     "VBN", "VBP", "VBZ", "WDT", "WP", "WP$", "WRB", "HYPH", "NFP", "ADD", "AFX", "-LRB-", "-RRB-",
     ".", ",", ":", "``", "''", "#", "$", "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ",
     "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "VERB", "X")
)  # fmt: skip


def is_yaml(start: Start) -> bool:
    """Return whether a file is YAML: names with values, and a block below a name."""
    lines = [line for line in start.text.splitlines() if line.strip()]
    if not start.is_first or len(lines) < 3:
        return False
    named = sum(map(bool, map(_YAML_LINE.match, lines)))
    is_nested = any(
        first.rstrip().endswith(":") and _YAML_BELOW.match(second)
        for first, second in pairwise(lines)
    )
    is_begun = lines[0].startswith(("%YAML", "---"))
    return named >= 0.8 * len(lines) and (is_nested or is_begun)


_YAML_LINE = re.compile(r"\s*(?:- +)*[a-z_][\w.-]*:(?: |$)|\s*- \S+$|%YAML|---|\s*#")
_YAML_BELOW = re.compile(r"(?:\s+|- )(?:- +)*[a-z_][\w.-]*:(?: |$)|\s*- \S+$")


def is_ini(start: Start) -> bool:
    """Return whether a file is TOML or like it: sections of names with values."""
    lines = start.unremarked
    sections = sum(map(bool, map(_SECTION.match, lines)))
    values = sum(map(bool, map(_VALUE.match, lines)))
    is_whole = sections + values >= 0.9 * len(lines)
    return start.is_first and 0 < sections <= values and is_whole


_SECTION = re.compile(r"\[\[?[A-Za-z][\w .\":/-]*\]\]?$")
_VALUE = re.compile(r"[\w.-]+ *= *\S|[\"'].*[\"'],?$|\]$")

_BEGINS_CODE = begins(r"#!\s*/")
_has_code_rows = rows(
    r"(?:def|class|if|elif|else|for|while|with|try|except|return|raise|import|from|yield|@)\b"
    r"|[\w.]+ [-+*/|]?= |//|/?\*|#|.*[;{}()\[\],]$",
    mark=r"#include [<\"]|import \w[\w.]*(?: as \w+)?;?$|from [\w.]+ import \w|def \w+\(.*:$"
    r"|(?:package|using|use) [\w.:]+;|(?:public|private|static) .*[{;]$|function \w*\(.*\{$",
    share=0.8,
)


def is_code(start: Start) -> bool:
    """Return whether a file is a program."""
    return _BEGINS_CODE(start) or _has_code_rows(start)


def is_quoted_printable(start: Start) -> bool:
    """Return whether a text is encoded as mail programs do: ``caf=C3=A9``, or ``=`` at ends of
    lines and for signs."""
    if _ENCODED_LETTER.search(start.text):
        return True
    soft_breaks = len(_SOFT_BREAK.findall(start.text))
    return soft_breaks > 0 and _ENCODED_SIGN.search(start.text) is not None


_ENCODED_LETTER = re.compile(r"=(?:C[2-9A-F]|D[0-9A-F]|E[0-9A-F]=[89AB][0-9A-F])=[89AB][0-9A-F]")
_SOFT_BREAK = re.compile(r"[^\s=]=\r?$", re.MULTILINE)
_ENCODED_SIGN = re.compile(r"=(?:20\r?$|3D|09|[89A-F][0-9A-F])", re.MULTILINE)


def has_entities(start: Start) -> bool:
    """Return whether a text has more HTML entities than a text about HTML: three, and one to thirty
    words."""
    found = len(_ENTITY.findall(start.text))
    return found > 2 and 30 * found >= len(start.text.split()) and not start.has_trees


_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|[lr]squo|[lr]dquo|[mn]dash|#[0-9]{2,5});")
