"""The program of a scoring child.

Lane 0 loads and forgets models. Each other lane scores or parses for one slot of the queue, with
threads of its own. Parser and ensemble share a span model that both have, and its reading of a
sentence (``reranker.scoring.span_table``).
"""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from reranker.errors import InputError
from reranker.nbest import NBest
from reranker.parsers.running import parsed_list
from reranker.process.cancellation import Cancellation, Stopped
from reranker.process.machine import periodic_memory_return, return_freed_memory
from reranker.service.children.child import Lane, Request, resident_memory, serve
from reranker.service.children.scoring import BatchScores, ChildMember, Models, ParserModel, ToScore
from reranker.service.errors import described
from reranker.text.reading import TextSentence

if TYPE_CHECKING:
    from reranker import Reranker
    from reranker.parsers.chart import ChartParser
    from reranker.parsers.choice import ParserChoice
    from reranker.scoring.lanes import Lanes


BROKEN = "the parser does not work; see the log of the service"


class _LoadedEnsemble(NamedTuple):
    """An ensemble, and the built-in parser if it has a model."""

    reranker: Reranker
    parser: ChartParser | None


def lanes(slots: Sequence[tuple[int, int]]) -> list[Lane]:
    """Return a lane that loads models, and a lane for each slot, given as threads and niceness."""
    import reranker.pipeline  # noqa: F401  which takes seconds, before the child beats
    from reranker.scoring.lanes import Lanes

    models: dict[int, _LoadedEnsemble] = {}
    return [
        partial(_control, models),
        *(partial(_score, models, Lanes(threads, niceness)) for threads, niceness in slots),
    ]


def _control(models: dict[int, _LoadedEnsemble], request: Request) -> Models | None:
    """Load or forget models; raises RerankError if models cannot be loaded."""
    match request.value:
        case "load", number, loading, choice:
            models[number], without_weights = _load(number, loading, choice)
            return without_weights
        case "forget", numbers:
            for number in numbers:
                models.pop(number, None)
            gc.collect()  # an idle engine would keep the garbage of loading
            return_freed_memory()
    return None


def _load(
    number: int, loading: dict[str, Any], choice: ParserChoice
) -> tuple[_LoadedEnsemble, Models]:
    from reranker import Reranker

    reranker, parser, no_parser = Reranker.load(**loading), None, ""
    try:
        parser = cast("ChartParser", choice.create())
    except InputError as error:
        no_parser = str(error)
    return_freed_memory()  # the file of a span model that is shared
    members = tuple(
        ChildMember(member.name, member.sha256, member.vocabulary, member.parameters)
        for member in reranker.members
    )
    without_weights = Models(
        number,
        members,
        reranker.combination,
        reranker.weighing,
        reranker.calibration,
        reranker.device,
        reranker.precision,
        None if parser is None else ParserModel(parser.sha256, parser.language, parser.vocabulary),
        no_parser,
    )
    return _LoadedEnsemble(reranker, parser), without_weights


def _score(models: dict[int, _LoadedEnsemble], lanes: Lanes, request: Request) -> BatchScores:
    from reranker.checkpoints.members import gpu_memory
    from reranker.service.children.halving import score_in_halves

    batch: ToScore = request.value
    started = time.monotonic()
    reranker, parser = models[batch.models]
    lists, parsed = batch.lists, list[_ParsedSentence]()
    if batch.sentences:
        assert parser is not None
        if not batch.is_certainty_wanted:
            parser = parser.without_certainty()
        each = -(-len(batch.sentences) // lanes.count)
        shares = (
            batch.sentences[first : first + each] for first in range(0, len(batch.sentences), each)
        )
        jobs = lanes.compute([partial(_parse, parser, request, share) for share in shares])
        parsed = [*itertools.chain.from_iterable(jobs)]
        lists = [without_long_trees(each.nbest, batch.most_tree_tokens) for each in parsed]
    scores, halvings = score_in_halves(
        reranker.ensemble.on(lanes), lists, batch.token_scores, request, batch.best
    )
    return BatchScores(
        lists if batch.sentences else (),
        scores,
        time.monotonic() - started,
        halvings,
        gpu_memory() or resident_memory(),
        [each.seconds for each in parsed],
        [each.fault for each in parsed if each.fault is not None],
    )


class _ParsedSentence(NamedTuple):
    """The built-in parser's answer for a sentence."""

    nbest: NBest
    seconds: float
    fault: dict[str, str] | None
    """The parser's error, as fields of the log."""


def _parse(
    parser: ChartParser, cancellation: Cancellation, sentences: Sequence[TextSentence]
) -> list[_ParsedSentence]:
    """Parse sentences together. After an error each is parsed alone, so that only the sentence with
    the error loses its trees. The seconds of each are the mean."""
    started = time.monotonic()
    whole = [each for each in sentences if each.problem is None]
    answers: Iterator[NBest | str]
    fault = None
    try:
        answers = iter(parser.parse([each.sentence for each in whole], cancellation))
    except Stopped:
        raise
    except Exception as error:
        if len(sentences) > 1:
            alone = (_parse(parser, cancellation, [each]) for each in sentences)
            return [*itertools.chain.from_iterable(alone)]
        answers, fault = itertools.repeat(BROKEN), described(error, with_text=True)
    seconds = (time.monotonic() - started) / len(sentences)
    return [
        _ParsedSentence(
            parsed_list(each, each.problem or next(answers), parser.root), seconds, fault
        )
        for each in sentences
    ]


def without_long_trees(nbest: NBest, most_tokens: int) -> NBest:
    """Return a parser's list, in which trees of ``most_tokens`` tokens or more are rejected."""
    # <eos> is one more.
    long = [each for each in nbest.candidates if len(each.tokens) >= most_tokens]
    if not long:
        return nbest
    message = f"more tokens than max_tree_tokens = {most_tokens}"
    short = (each for each in nbest.candidates if len(each.tokens) < most_tokens)
    rejected = (each.rejected("too-long", message) for each in long)
    return replace(nbest, candidates=tuple(short), rejected=(*nbest.rejected, *rejected))


if __name__ == "__main__":
    serve(lanes, periodic_memory_return())
