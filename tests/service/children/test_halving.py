"""Scoring in halves where memory does not suffice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import torch

from reranker import Reranker
from reranker.nbest import NBest
from reranker.nbest.data import RawCandidate, RawList
from reranker.nbest.faithful import Source, accept
from reranker.nbest.notation import Notation
from reranker.process.cancellation import Cancellation
from reranker.ranking import Scored
from reranker.scoring.lanes import Lanes
from reranker.service.children.halving import score_in_halves
from tests.reranker.ensembles import CANDIDATES, untrained

SOURCE = Source("test", Notation.BRACKETS, False)


def nbest(name: str, *trees: str) -> NBest:
    return accept(RawList(name, 1, [RawCandidate(1, tree) for tree in trees]), SOURCE)


class Watched(Reranker):
    """A scorer with room for ``room`` candidates."""

    room = 10**6

    def __init__(self, seed: int = 1) -> None:
        super().__init__([untrained(seed)])

    def score_lists(
        self,
        lists: Iterable[NBest],
        token_scores: bool = False,
        cancellation: Cancellation | None = None,
        lanes: Lanes | None = None,
    ) -> Iterator[tuple[NBest, list[Scored]]]:
        lists = list(lists)
        if sum(len(one.candidates) for one in lists) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().score_lists(lists, token_scores, cancellation, lanes)


@pytest.mark.parametrize("room, retries", [(100, 0), (13, 1), (7, 2), (3, 5), (1, 17)])
def test_out_of_memory_halves_until_it_fits(room: int, retries: int) -> None:
    """Three lists of 6 candidates, of which 0 and 3 are the same to the models. 18 candidates are
    halved to 1 and 2 lists; the 2 to one each; a list of 6 to 3 and 3, and so on."""
    lists = [nbest(str(number), *CANDIDATES) for number in range(3)]
    roomy, tight = Watched(), Watched()
    tight.room = room
    found, halvings = score_in_halves(tight, lists, True)
    assert found == [scores for _, scores in roomy.score_lists(lists, token_scores=True)]
    assert found[0] and [one.duplicate_of for one in found[0]] == [None, None, None, 0, None, None]
    assert halvings == retries


def test_other_errors_are_no_lack_of_memory() -> None:
    class Broken(Watched):
        def score_lists(self, *_: object, **__: object) -> Iterator[tuple[NBest, list[Scored]]]:
            raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        score_in_halves(Broken(), [nbest("a", *CANDIDATES)], False)


@pytest.mark.slow
def test_real_lack_of_memory_on_a_cpu() -> None:
    """A process that may have no more memory scores in parts what it cannot score at once."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parents[1] / "little_memory.py")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    retries, same = done.stdout.split()
    assert int(retries) > 0 and same == "True"
