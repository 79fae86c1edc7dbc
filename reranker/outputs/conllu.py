r"""Trees in CoNLL-U: one word per line, with the brackets before and behind the word in MISC.

``Constituency=(S(NP*)`` is the parse bit of the CoNLL-2012 shared task (Pradhan et al. 2012): the
brackets that open before the word, ``*`` for the word with its part of speech, which is in the XPOS
column, and the brackets that close behind it. MISC also has:

- ``Leaf=-LRB-``: the word in the tree, if it differs from FORM, the word in the text
- ``start_char`` and ``end_char``: characters from the start of the file, as Stanza writes them
- ``SpaceAfter=No``: no space follows in the text

In labels and leaves ``|``, backslashes, brackets and unprintable characters become ``\uXXXX;``.
A word without a part-of-speech node has XPOS ``_``; UPOS follows from XPOS
(``reranker.outputs.upos``). The comment ``# constituency`` has the tree as well: Stanza and
`rerank --nbest` look for it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from reranker.errors import InputError, TreeError
from reranker.outputs.output import Output
from reranker.outputs.upos import universal_tags
from reranker.ranking import Ranking
from reranker.ranking.sentence import ParsedSentence
from reranker.trees.tree import Tree

_COLUMNS = 10
_UNSAFE = re.compile(r"[\\|()]")
_ESCAPED = re.compile(r"\\u((?:10|[1-9a-f])?[0-9a-f]{4});")  # up to the last character, 10ffff
_BIT = re.compile(r"(?P<opened>(?:\([^()]*)*)\*(?P<closed>\)*)", re.DOTALL)


class CoNLLU(Output):
    """The best tree as CoNLL-U."""

    suffix = ".conllu"

    def line(self, ranking: Ranking, number: int) -> str:
        return to_conllu(ranking.parsed_sentence()).removesuffix("\n")


def to_conllu(sentence: ParsedSentence) -> str:
    """Return the lines of a sentence and the blank line that ends it. A sentence of unknown words
    has the word ``_``."""
    comments = [f"# sent_id = {_line(sentence.id)}"]
    if sentence.origin is not None:
        comments.append(f"# source = {_line(sentence.origin.file)}:{sentence.origin.line}")
    if sentence.origin is not None and sentence.origin.speaker:
        comments.append(f"# speaker = {_line(sentence.origin.speaker)}")
    if sentence.score is not None:
        comments.append(f"# score = {sentence.score}")
    if sentence.confidence is not None:
        comments.append(f"# confidence = {sentence.confidence}")
    if sentence.better_than_first is not None:
        comments.append(f"# better_than_first = {sentence.better_than_first}")
    rows, text = _rows(sentence)
    comments.append(f"# text = {text}")
    if sentence.tree is not None:
        comments.append(f"# constituency = {sentence.tree.to_string()}")
    return "\n".join([*comments, *rows, "", ""])


def from_conllu(lines: Iterable[str], name: str = "CoNLL-U") -> Iterator[Tree | None]:
    """Yield the tree of each sentence; None where no word has ``Constituency``.

    Raises InputError, naming file and line, for brackets that are not a tree.
    """
    words: list[list[str]] = []
    start = number = 0
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\n")
        if line and not line.startswith("#"):
            columns = line.split("\t")
            if len(columns) != _COLUMNS:
                raise InputError(f"{name}:{number}: {len(columns)} columns, not {_COLUMNS}")
            if columns[0].isdigit():  # else a range of words, or a word that is not in the text
                start = start or number
                words.append(columns)
        elif not line and words:
            yield _tree(words, f"{name}:{start}")
            words, start = [], 0
    if words:
        yield _tree(words, f"{name}:{start}")


def _rows(sentence: ParsedSentence) -> tuple[list[str], str]:
    """Return a row for each word, and the text that the rows spell."""
    words = sentence.words
    bits = (
        [] if sentence.tree is None else [each.bit for each in parse_bits(sentence.tree, _escaped)]
    )
    universal = iter(() if sentence.tree is None else universal_tags(sentence.tree))
    rows, text = [], ""
    for place, (word, bit) in enumerate(zip(words, bits, strict=True)):
        is_last = place + 1 == len(words)
        is_joined = not is_last and word.end is not None and words[place + 1].start == word.end
        text += word.form + ("" if is_joined or is_last else " ")
        misc = [f"Constituency={bit}"]
        if word.form != word.leaf:
            misc.append(f"Leaf={_escaped(word.leaf)}")
        if is_joined:
            misc.append("SpaceAfter=No")
        if word.start is not None:
            misc += [f"start_char={word.start}", f"end_char={word.end}"]
        tags = "_" if word.tag is None else next(universal) or "_", word.tag or "_"
        rows.append(_row(place + 1, word.form, tags, "|".join(misc)))
    return rows or [_row(1, "_", ("_", "_"), "_")], text or "_"


def _row(place: int, form: str, tags: tuple[str, str], misc: str) -> str:
    universal, tag = tags
    return "\t".join([str(place), form, "_", universal, tag, "_", "_", "_", "_", misc])


class Leaf(NamedTuple):
    """A word of a tree, and its parse bit."""

    word: str
    tag: str
    """Empty for a word without a part of speech."""
    bit: str


def parse_bits(tree: Tree, written: Callable[[str], str] = str) -> list[Leaf]:
    """Return each word with the brackets around it; ``written`` makes the text of a label. Raises
    TreeError for a constituent without words."""
    leaves: list[Leaf] = []
    opened = ""
    stack: list[Tree | str | None] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            leaves[-1] = leaves[-1]._replace(bit=leaves[-1].bit + ")")
        elif isinstance(node, str):
            leaves.append(Leaf(node, "", f"{opened}*"))
            opened = ""
        elif node.is_preterminal and node.label not in ("", "_"):
            leaves.append(Leaf(str(node.children[0]), node.label, f"{opened}*"))
            opened = ""
        elif not node.children:
            raise TreeError("not-a-tree", f"{node.label}: a constituent without words")
        else:
            opened += f"({written(node.label)}"
            stack.append(None)
            stack.extend(reversed(node.children))
    return leaves


def _tree(words: list[list[str]], place: str) -> Tree | None:
    """Return the tree of a sentence's rows."""
    bits = [_misc(columns[-1]) for columns in words]
    if not any("Constituency" in bit for bit in bits):
        return None
    open_nodes: list[tuple[str, list[Tree | str]]] = [("", [])]
    for columns, misc in zip(words, bits, strict=True):
        bit = _BIT.fullmatch(misc.get("Constituency", ""))
        if bit is None:
            raise InputError(f"{place}: word {columns[0]} has no brackets: {columns[-1]!r:.60}")
        labels = bit["opened"].split("(")[1:]
        open_nodes += [(_unescaped(label), []) for label in labels]
        leaf = _unescaped(misc["Leaf"]) if "Leaf" in misc else columns[1]
        tag = columns[4]
        open_nodes[-1][1].append(leaf if tag == "_" else Tree(tag, (leaf,)))
        for _ in bit["closed"]:
            if len(open_nodes) == 1:
                raise InputError(f"{place}: word {columns[0]} closes more than is open")
            label, children = open_nodes.pop()
            open_nodes[-1][1].append(Tree(label, tuple(children)))
    roots = open_nodes[0][1]
    if len(open_nodes) > 1 or len(roots) > 1 or isinstance(roots[0], str):
        raise InputError(f"{place}: the brackets of the sentence are not one tree")
    return roots[0]


def _misc(column: str) -> dict[str, str]:
    return {name: value for part in column.split("|") for name, _, value in [part.partition("=")]}


def _escaped(text: str) -> str:
    return "".join(
        f"\\u{ord(letter):04x};" if _UNSAFE.match(letter) or not letter.isprintable() else letter
        for letter in text
    )


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text)


def _line(text: str) -> str:
    """Return the text without line breaks, which would end a comment."""
    return " ".join(text.split())
