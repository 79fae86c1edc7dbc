"""From the sentences of a text to their lists, in order, with several batches in progress."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from reranker.nbest import NBest, Rejected
from reranker.parsers.parser import Parser, jobs_of, root_of
from reranker.process.cancellation import result_of
from reranker.text.reading import TextSentence

_BATCH_WORDS = 10_000  # a sentence too long to be parsed takes memory, too
_WAITING = 2  # batches for each thread, finished ones that wait for their turn included


_Parsed = tuple[int, NBest]  # with the sentence's position


class ParsedLists:
    """Iterates over the list of every sentence. A sentence that cannot be parsed has no candidate
    and one entry in ``rejected`` that says why (``unparsed``). Lists are numbered from 0."""

    def __init__(self, parser: Parser, sentences: Iterable[TextSentence], jobs: int) -> None:
        self._parser, self._jobs = parser, jobs_of(parser, jobs)
        self._sentences = iter(sentences)
        self._number = 0
        self.position = 0  # the ``position`` of the last sentence whose list was returned
        self._sizes = self._batch_sizes()
        self._threads = ThreadPoolExecutor(self._jobs, "parsing")
        self._under_way: deque[Future[list[_Parsed]]] = deque()
        self._finished: deque[_Parsed] = deque()

    def skip(self) -> NBest | None:
        """Skip a sentence: its list, without any candidate, or None if there is none left. Must not
        be called once the parser has started."""
        sentence = next(self._sentences, None)
        if sentence is None:
            return None
        self._number += 1
        self.position = sentence.position
        return parsed_list(sentence, "", root_of(self._parser))

    def start(self) -> None:
        """Start the parser before the first list is requested."""
        while len(self._under_way) < _WAITING * self._jobs:
            batch = self._batch()
            if not batch:
                return
            self._under_way.append(self._threads.submit(self._parse, batch))

    def close(self) -> None:
        """Stop the parser."""
        self._parser.stop()
        self._threads.shutdown(cancel_futures=True)

    def __iter__(self) -> Iterator[NBest]:
        return self

    def __next__(self) -> NBest:
        while not self._finished:
            self.start()
            if not self._under_way:
                raise StopIteration
            batch = result_of(self._under_way.popleft())
            self._finished.extend(batch)
        self._number += 1
        self.position, nbest = self._finished.popleft()
        return replace(nbest, id=str(self._number - 1))

    def _batch(self) -> list[TextSentence]:
        """Return the next sentences, fewer if they are very long."""
        batch: list[TextSentence] = []
        words = 0
        for sentence in itertools.islice(self._sentences, next(self._sizes)):
            batch.append(sentence)
            words += len(sentence.sentence.words)
            if words > _BATCH_WORDS:
                break
        return batch

    def _batch_sizes(self) -> Iterator[int]:
        sizes = self._parser.batch_sizes
        # Threads share the small first ones.
        growing = itertools.chain.from_iterable([size] * self._jobs for size in sizes)
        return itertools.chain(growing, itertools.repeat(sizes[-1]))

    def _parse(self, batch: Sequence[TextSentence]) -> list[_Parsed]:
        lists = parsed(self._parser, batch)
        return [(each.position, nbest) for each, nbest in zip(batch, lists, strict=True)]


def parsed(parser: Parser, batch: Sequence[TextSentence]) -> list[NBest]:
    """Return the list of each sentence as ``ParsedLists`` returns it, without its number. Raises
    what ``Parser.parse`` does."""
    given = [each.sentence for each in batch if each.problem is None]
    answers = iter(parser.parse(given) if given else ())
    root = root_of(parser)
    return [parsed_list(each, each.problem or next(answers), root) for each in batch]


def parsed_list(each: TextSentence, answer: NBest | str, root: str) -> NBest:
    """Return the parser's list for a sentence, or an empty one that says why, with the sentence's
    place in the text."""
    file, line, *_ = each.origin
    if isinstance(answer, str):
        unparsed = Rejected(0, line, "unparsed", answer, "", file)
        return NBest("", (), (unparsed,), line, each.sentence, origin=each.origin, root=root)
    return replace(
        answer,
        candidates=tuple(replace(each, file=file, line=line) for each in answer.candidates),
        rejected=tuple(replace(each, file=file, line=line) for each in answer.rejected),
        line=line,
        sentence=each.sentence,
        origin=each.origin,
    )
