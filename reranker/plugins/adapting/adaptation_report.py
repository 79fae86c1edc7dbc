"""The report of an adaptation, for the user to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reranker.files.table import grid
from reranker.plugins.adapting.stages import TITLE, Choice, Silver
from reranker.plugins.adapting.training import Adapted


def report(
    before: Sequence[Choice],
    after: Sequence[Choice],
    silver: Silver,
    parsed: int,
    refused: int,
    models: Sequence[Adapted],
) -> str:
    """Write the report as Markdown; ``before`` and ``after`` are the choices for the held-out
    sentences."""
    is_other = sum(old.tree != new.tree for old, new in zip(before, after, strict=True))
    rows = [
        ("sentences parsed", parsed),
        ("left out", refused),
        ("repeated", silver.repeated),
        ("learned from", len(silver.learned)),
        ("held out", len(silver.held_out)),
    ]
    worse = [each.name for each in models if each.after > each.before]
    warning = f"Perplexity rose: {', '.join(worse)}. Use the models as they were." if worse else ""

    def share(number: int) -> str:
        return f"{number} of {len(before)}"

    def both(is_so: Callable[[Choice], bool]) -> list[str]:
        return [share(sum(map(is_so, made))) for made in (before, after)]

    parts = [
        TITLE,
        grid(["", "number"], [[name, f"{number:,}"] for name, number in rows]),
        "Perplexity (per token; per word for a span model) of the held-out trees, which the models "
        "chose before; they also decided which weights were kept, so that *after* is a little "
        "optimistic:",
        grid(
            ["model", "before", "after"],
            [[each.name, f"{each.before:.3f}", f"{each.after:.3f}"] for each in models],
        ),
        warning,
        "Choices for the held-out sentences:",
        grid(
            ["", "before", "after"],
            [
                ["all models agree", *both(lambda choice: choice.do_agree)],
                ["not the parser's first tree", *both(lambda choice: not choice.is_first)],
                ["another tree than before", "", share(is_other)],
            ],
        ),
        "With a lower perplexity, the models know the words and constructions of your text better; "
        "their trees may be no better. To find out, correct the trees of two hundred sentences or "
        "more, and compare `rerank --gold` with the models before and after (`rerank compare` "
        "tests whether a difference is chance).\n",
    ]
    return "\n\n".join(filter(None, parts))
