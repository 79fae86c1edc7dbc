"""Where sentences wait to be read word by word, which is done in a surprisal child.

Clients take turns, sentence by sentence. Unlike a list, a sentence cannot be scored together with
others, so this has no part in the queue of what is scored, and comes after that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from reranker.errors import RerankError
from reranker.process.cancellation import Stopped
from reranker.service.children.child import Child
from reranker.service.children.surprisal import ReadAnswer, ToRead
from reranker.service.errors import Lost, draining, unavailable
from reranker.service.metrics import Metrics
from reranker.service.scheduling.pool import Job, Pool
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
        self._metrics, self._is_closed = metrics, False
        heartbeat = settings.heartbeat_seconds
        self._child = Child("surprisal", _LANES, heartbeat, _NICENESS, self._ended)
        self._pool = pool = Pool("surprisal", _LANES, self._read)
        metrics.reading_busy.labels("words").set_function(lambda: pool.count(True))
        metrics.reading_waiting.labels("words").set_function(lambda: pool.count(False))

    @property
    def memory(self) -> float:
        """Bytes that the child holds."""
        return self._child.memory

    async def read(self, sentences: Sequence[ToRead], client: str) -> list[ReadAnswer]:
        """What each costs, in order; cancelled with the request. Raises RequestError 503 if that
        cannot be computed now."""
        answers: list[ReadAnswer | None] = [None] * len(sentences)
        remaining = iter(enumerate(sentences))

        async def read_some() -> None:
            for place, each in remaining:
                cost = each.beam * (1 + len(each.sentence.sentence.words))
                answers[place] = await self._pool.ask(client, each, cost)

        tasks = [asyncio.ensure_future(read_some()) for _ in range(_LANES)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return [answer for answer in answers if answer is not None]

    def drop_all(self) -> None:
        """Requests that are being read are answered 503."""
        self._pool.drop(draining())

    def close(self) -> None:
        """End the child for good."""
        self._is_closed = True
        self._pool.close()
        self._child.close()

    # What follows runs in threads.

    def _ended(self, why: Lost) -> None:
        self._metrics.child_ended("surprisal", why)

    def _read(self, job: Job[ToRead, ReadAnswer], lane: int) -> ReadAnswer:
        process = None
        try:
            process = self._child.started()
            answer: ReadAnswer = process.reply(
                job.value, job.cancellation, lane, patience=_PATIENCE_SECONDS
            )
            return answer
        except TimeoutError:  # it does not even notice that it should stop
            self._child.end()
            raise Stopped from None
        except Lost as error:
            if self._is_closed:
                raise draining() from error
            _LOGGER.error("reading words crashed", **error.description)
            message = "the process that reads words died; it is restarted"
            raise unavailable("surprisal-crashed", message) from error
        except MemoryError as error:
            raise unavailable("out-of-memory", "there is not enough memory to read it") from error
        except RerankError as error:
            raise unavailable("surprisal-failed", str(error)) from error
