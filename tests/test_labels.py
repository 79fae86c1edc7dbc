"""docs/labels.md: every label and tag of the parser is there, and the examples are right."""

from __future__ import annotations

import re
from collections.abc import Iterator

import reranker
from tests.checkout import ROOT

PAGE = (ROOT / "docs" / "labels.md").read_text("utf-8")
_BOLD = re.compile(r"\*\*(.+?)\*\*")


def rows() -> Iterator[tuple[set[str], list[str]]]:
    """Yield the labels or tags of each row, and its examples."""
    for line in PAGE.splitlines():
        if line.startswith("| `"):
            first, _, example = line.strip("| ").split(" | ")
            names = re.findall(r"(?<!`)(`+) ?([^ `]+|``) ?\1(?!`)", first)
            yield {name for _, name in names}, example.split("; ")


def test_every_label_and_tag_of_the_parser_is_explained() -> None:
    import torch  # slow to load

    model = torch.load(ROOT / "ckpt" / "spans.pt", weights_only=True)
    known = {*model["labels"].split(), *model["tags"].split()}
    assert sorted(known - {name for names, _ in rows() for name in names}) == []


def test_the_parser_gives_them_to_the_words_in_bold() -> None:
    marked = [(names, each) for names, some in rows() for each in some if _BOLD.search(each)]
    texts = [_BOLD.sub(r"\1", example) for _, example in marked]
    wrong = []
    for (names, example), ranking in zip(marked, reranker.parse(texts, top=1), strict=True):
        best = ranking[0]
        found: set[object] = {(each.offsets, each.label) for each in best.constituents}
        found |= set(zip(best.offsets or (), best.tags, strict=True))
        for number, bold in enumerate(_BOLD.finditer(example)):
            start = bold.start() - 4 * number
            place = (start, start + len(bold[1]))
            if not any((place, name) in found for name in names):
                wrong.append((names, example, ranking.tree))
    assert wrong == []
