"""Outputs by name."""

from __future__ import annotations

import json
from collections.abc import Callable

from reranker import registry
from reranker.errors import InputError
from reranker.files.records import Written
from reranker.ranking import Ranking


def format_ranking(ranking: Ranking, output: str, number: int = 1, *, is_csv: bool = False) -> str:
    """Return the text that ``--output`` of that name writes for a sentence, without the final line
    break. A table, ``is_csv`` or with tabs, has a heading above sentence ``number`` 1.

    Raises InputError for another name, TreeError if the output needs a bracketed tree and the best
    tree is not one (``ReadOptions.restore`` makes it one).
    """
    if output == "brackets":
        return _brackets(ranking, number, is_csv=is_csv)
    if output in OUTPUTS:
        return OUTPUTS[output](ranking)
    if not is_output(output):
        raise InputError(f"there is no output {output!r}; there are {', '.join(OUTPUTS)}")
    return str(registry.load("outputs", output)(ranking))


def is_output(name: str) -> bool:
    """Tell whether there is an output of that name, here or in another package."""
    return name in OUTPUTS or registry.has("outputs", name)


def written(ranking: Ranking) -> Written:
    """Return the facts that a summary needs about a sentence whose answer is written."""
    best = ranking.best
    return Written(
        best.index if best else None,
        len(ranking.ranking) + ranking.beaten,
        len(ranking.rejected),
        ranking.repaired,
    )


def needs_brackets(output: str) -> bool:
    """Return whether the output needs bracketed trees."""
    return output not in ("best", "ranked")


def _pretty(ranking: Ranking) -> str:
    from reranker.outputs import penn

    tree = ranking.parsed_sentence().tree
    return penn.pretty(tree) if tree else ranking.fallback


def _conllu(ranking: Ranking) -> str:
    from reranker.outputs import conllu

    return conllu.to_conllu(ranking.parsed_sentence()).removesuffix("\n")


def _json(ranking: Ranking) -> str:
    from reranker.outputs import spans

    sentence = spans.to_dict(ranking.parsed_sentence())
    return json.dumps(sentence, ensure_ascii=False, allow_nan=False)


def _brackets(ranking: Ranking, number: int = 1, *, is_csv: bool = False) -> str:
    from reranker.outputs.brackets import table

    return table(ranking.parsed_sentence(), number, is_csv=is_csv)


def _svg(ranking: Ranking) -> str:
    """Draw the tree; the text has several lines, for a file of its own."""
    from reranker.trees.svg import drawing, svg

    tree = ranking.parsed_sentence().tree
    return (drawing(tree) if tree else svg([])).removesuffix("\n")


OUTPUTS: dict[str, Callable[[Ranking], str]] = {
    "best": lambda ranking: ranking.tree,
    "ranked": lambda ranking: ranking.to_json(),
    "pretty": _pretty,
    "conllu": _conllu,
    "json": _json,
    "brackets": _brackets,
    "svg": _svg,
}
