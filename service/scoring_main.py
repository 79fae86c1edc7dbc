"""What runs in the scoring process.

The first line brings orders: which models to load and which to forget. Each of the others has a
thread that scores what comes, with lanes of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from reranker import Reranker
from reranker.checkpoints.devices import gpu_memory
from reranker.checkpoints.memory import now_and_then, return_freed_memory
from reranker.errors import RerankError, lacks_memory
from reranker.scoring.cancellation import Cancellation, Stopped
from reranker.scoring.lanes import Lanes
from reranker.service.faults import described
from reranker.service.lines import answer_all, answer_in_thread, lines_to_service, resident_memory
from reranker.service.scoring_process import Description, Member

_RETURNING_SECONDS = 10.0


def main() -> None:
    control, *lines = lines_to_service()
    models: dict[int, Reranker] = {}

    def obey(order: tuple[Any, ...], _: Cancellation) -> Iterator[tuple[str, object]]:
        match order:
            case "slots", slots:
                after = now_and_then(_RETURNING_SECONDS)
                for line, (threads, niceness) in zip(lines, slots, strict=True):
                    answer_in_thread(line, partial(_score, models, Lanes(threads, niceness)), after)
                yield "done", None
            case "load", number, loading:
                yield _load(models, number, loading)
            case "forget", numbers:
                for number in numbers:
                    models.pop(number, None)
                return_freed_memory()
                yield "done", None

    answer_all(control, obey)


def _load(
    models: dict[int, Reranker], number: int, loading: dict[str, Any]
) -> tuple[str, Description | str]:
    try:
        loaded = models[number] = Reranker.load(**loading)
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
    )


def _score(
    models: dict[int, Reranker],
    lanes: Lanes,
    order: tuple[Any, ...],
    cancellation: Cancellation,
) -> Iterator[tuple[str, object]]:
    kind, value = _scores(models, lanes, order, cancellation)
    yield kind, (value, gpu_memory() or resident_memory())


def _scores(
    models: dict[int, Reranker], lanes: Lanes, order: tuple[Any, ...], cancellation: Cancellation
) -> tuple[str, object]:
    number, lists, token_scores = order
    try:
        scored = models[number].score_lists(
            lists, token_scores=token_scores, cancellation=cancellation, lanes=lanes
        )
        return "scores", [scores for _, scores in scored]
    except Stopped:
        return "stopped", None
    except BaseException as error:
        if lacks_memory(error):
            return "no-memory", None
        return "failed", described(error, with_text=True)


if __name__ == "__main__":
    main()
