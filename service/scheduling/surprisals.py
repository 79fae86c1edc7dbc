"""Sentences that wait to be read word by word in a surprisal child.

Clients take turns, sentence by sentence. Unlike a list, a sentence cannot be scored together with
others, so this has no part in the queue of what is scored, and comes after that.
"""

from __future__ import annotations

import asyncio

import structlog

from reranker.errors import RerankError
from reranker.ranking.ranker import Member
from reranker.service.children.surprisal import ReadAnswer, ToRead
from reranker.service.errors import Lost, RequestError, unavailable
from reranker.service.metrics import Metrics
from reranker.service.requests.reading import Contents
from reranker.service.requests.schemas import SurprisalOptions
from reranker.service.scheduling.pool import Pool
from reranker.service.settings import Settings

_LOGGER = structlog.get_logger("rerank.surprisal")

# Sentences that are read at once.
_LANES = 2

# It comes after what answers, and after scoring.
_NICENESS = 10

# How long the child has to notice that a sentence is not wanted any more.
_PATIENCE_SECONDS = 10.0


class WordReaders:
    """The surprisal child, which is started when it is first needed, and again after it has ended,
    and the sentences that wait for it."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._models = settings.named
        self.pool: Pool[ToRead] = Pool(
            "words",
            "surprisal",
            start=_LANES,
            settings=settings,
            metrics=metrics,
            lost=self._lost,
            niceness=_NICENESS,
            patience=_PATIENCE_SECONDS,
            doing="reading words",
            lanes=_LANES,
        )

    async def read(self, contents: Contents, model: Member, client: str) -> list[ReadAnswer]:
        """Return what the words of each sentence cost, in order; cancelled with the request. Raises
        RequestError 503 if that cannot be computed now."""
        asked = contents.asked
        assert isinstance(asked, SurprisalOptions)
        answers: list[ReadAnswer | None] = [None] * len(contents.sentences)
        remaining = iter(enumerate(contents.sentences))

        async def read_some() -> None:
            for place, each in remaining:
                job = ToRead(
                    self._models, model.name, model.sha256, place + 1, each,
                    asked.beam, asked.unit, asked.rows,
                )  # fmt: skip
                cost = asked.beam * (1 + len(each.sentence.words))
                answers[place] = (await self.pool.ask(client, job, cost)).value

        tasks = [asyncio.ensure_future(read_some()) for _ in range(_LANES)]
        try:
            await asyncio.gather(*tasks)
        except MemoryError as error:
            raise unavailable("out-of-memory", "there is not enough memory to read it") from error
        except RerankError as error:
            raise unavailable("surprisal-failed", str(error)) from error
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return [answer for answer in answers if answer is not None]

    def _lost(self, lost: Lost) -> RequestError:
        _LOGGER.error("reading words crashed", **lost.description)
        message = "the process that reads words died; it is restarted"
        return unavailable("surprisal-crashed", message)
