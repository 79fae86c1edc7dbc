"""What runs in the scoring process.

The first line brings orders: which models to load and which to forget. Each of the others has a
thread that scores or parses what comes, with lanes of its own. Parser and ensemble share a span
model that both have, and its reading of a sentence (``reranker.scoring.span_table``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple, cast

from reranker import Reranker
from reranker.checkpoints.devices import gpu_memory
from reranker.errors import InputError, RerankError, lacks_memory
from reranker.nbest import NBest
from reranker.parsers.chart import ChartParser
from reranker.parsers.choice import ParserChoice
from reranker.parsers.running import parsed_list
from reranker.process.cancellation import Cancellation, Stopped
from reranker.process.memory import now_and_then, return_freed_memory
from reranker.scoring.lanes import Lanes
from reranker.service.children.child import (
    answer_all,
    answer_in_thread,
    lines_to_service,
    resident_memory,
)
from reranker.service.children.faults import described
from reranker.service.children.reasons import BROKEN
from reranker.service.children.scoring import Description, Member, Parsed
from reranker.text.reading import TextSentence

_RETURNING_SECONDS = 10.0


class Loaded(NamedTuple):
    """An ensemble, and the built-in parser if it is asked."""

    reranker: Reranker
    parser: ChartParser | None


def main() -> None:
    control, *lines = lines_to_service()
    models: dict[int, Loaded] = {}

    def obey(order: tuple[Any, ...], _: Cancellation) -> Iterator[tuple[str, object]]:
        match order:
            case "slots", slots:
                after = now_and_then(_RETURNING_SECONDS)
                for line, (threads, niceness) in zip(lines, slots, strict=True):
                    answer = partial(_answer, models, Lanes(threads, niceness))
                    answer_in_thread(line, answer, after)
                yield "done", None
            case "load", number, loading, choice:
                yield _load(models, number, loading, choice)
            case "forget", numbers:
                for number in numbers:
                    models.pop(number, None)
                return_freed_memory()
                yield "done", None

    answer_all(control, obey)


def _load(
    models: dict[int, Loaded], number: int, loading: dict[str, Any], choice: ParserChoice | None
) -> tuple[str, Description | str]:
    try:
        loaded = Reranker.load(**loading)
        parser, why_not = _built_in_parser(choice)
        models[number] = Loaded(loaded, parser)
        return_freed_memory()  # the file of a span model that is shared
    except RerankError as error:
        return "failed", str(error)
    except Exception as error:
        kind = "no-memory" if lacks_memory(error) else "failed"
        return kind, f"the models could not be loaded: {type(error).__name__}: {error}"
    members = tuple(
        Member(member.name, member.sha256, member.vocabulary, member.parameters)
        for member in loaded.members
    )
    return "done", Description(
        members,
        loaded.combination,
        loaded.weighing,
        loaded.calibration,
        loaded.device,
        loaded.precision,
        None if parser is None else parser.sha256,
        why_not,
    )


def _built_in_parser(choice: ParserChoice | None) -> tuple[ChartParser | None, str]:
    """The built-in parser, or why there is none; neither if another one is asked (``choice``)."""
    if choice is None:
        return None, ""
    try:
        return cast(ChartParser, choice.create()), ""
    except InputError as error:
        return None, str(error)


def _answer(
    models: dict[int, Loaded],
    lanes: Lanes,
    order: tuple[Any, ...],
    cancellation: Cancellation,
) -> Iterator[tuple[str, object]]:
    kind, value = _outcome(models, lanes, order, cancellation)
    yield kind, (value, gpu_memory() or resident_memory())


def _outcome(
    models: dict[int, Loaded], lanes: Lanes, order: tuple[Any, ...], cancellation: Cancellation
) -> tuple[str, object]:
    what, number, *given = order
    loaded = models[number]
    try:
        if what == "parse":
            assert loaded.parser is not None
            parse = partial(_parsed, loaded.parser, cancellation)
            return "parsed", lanes.compute([partial(parse, each) for each in given[0]])
        lists, token_scores = given
        scored = loaded.reranker.score_lists(
            lists, token_scores=token_scores, cancellation=cancellation, lanes=lanes
        )
        return "scores", [scores for _, scores in scored]
    except Stopped:
        return "stopped", None
    except BaseException as error:
        if lacks_memory(error):
            return "no-memory", None
        return "failed", described(error, with_text=True)


def _parsed(parser: ChartParser, cancellation: Cancellation, sentence: TextSentence) -> Parsed:
    """What goes wrong costs one sentence its trees, and nobody else anything."""
    started = time.monotonic()
    answer: NBest | str = sentence.problem or ""
    fault = None
    if not answer:
        try:
            (answer,) = parser.parse([sentence.sentence], cancellation)
        except Stopped:
            raise
        except Exception as error:
            answer, fault = BROKEN, described(error, with_text=True)
    nbest = parsed_list(sentence, answer, parser.root)
    return Parsed(nbest, time.monotonic() - started, fault)


if __name__ == "__main__":
    main()
