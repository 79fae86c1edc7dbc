"""Scoring in halves where memory does not suffice."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from reranker import Reranker
from reranker.nbest import NBest, read_nbest
from reranker.nbest.data import RawCandidate, RawList
from reranker.nbest.faithful import ReadingRules, accept
from reranker.nbest.notation import Notation
from reranker.ranking import Scored, Weighing
from reranker.scoring.ensemble import Ensemble
from reranker.service.children import halving
from reranker.service.children.halving import score_in_halves
from reranker.service.children.scoring import Best
from tests.reranker.ensembles import CANDIDATES, untrained

ROOT = Path(__file__).parents[3]
RULES = ReadingRules("test", Notation.BRACKETS, False)


def nbest(name: str, *trees: str) -> NBest:
    return accept(RawList(name, 1, [RawCandidate(1, tree) for tree in trees]), RULES)


ENSEMBLE = Reranker([untrained(1)], threads=1).ensemble


def room_for(room: int) -> Callable[..., list[Sequence[Scored | None]]]:
    """Return ``score_together`` with room for so many candidates."""

    def score(
        ensemble: Ensemble, lists: Sequence[NBest], *given: Any
    ) -> list[Sequence[Scored | None]]:
        if sum(len(one.candidates) for one in lists) > room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(ensemble, lists, *given)

    real = halving.score_together
    return score


@pytest.mark.parametrize("room, retries", [(100, 0), (13, 1), (7, 2), (3, 5), (1, 17)])
def test_out_of_memory_halves_until_it_fits(
    monkeypatch: pytest.MonkeyPatch, room: int, retries: int
) -> None:
    """Three lists of 6 candidates, of which 0 and 3 are the same to the models. 18 candidates are
    halved to 1 and 2 lists; the 2 to one each; a list of 6 to 3 and 3, and so on."""
    lists = [nbest(str(number), *CANDIDATES) for number in range(3)]
    every = halving.score_together(ENSEMBLE, lists, True, None, None)
    monkeypatch.setattr(halving, "score_together", room_for(room))
    found, halvings = score_in_halves(ENSEMBLE, lists, True)
    assert found == every
    assert found[0] and [one and one.duplicate_of for one in found[0]] == [
        None,
        None,
        None,
        0,
        None,
        None,
    ]
    assert halvings == retries


def test_other_errors_are_no_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[Sequence[Scored | None]]:
        raise RuntimeError("something else")

    monkeypatch.setattr(halving, "score_together", broken)
    with pytest.raises(RuntimeError, match="something else"):
        score_in_halves(ENSEMBLE, [nbest("a", *CANDIDATES)], False)


@functools.cache
def shipped() -> Reranker:
    """Return the shipped models, which take seconds to load."""
    return Reranker.load(ROOT / "ckpt", threads=1)


@pytest.mark.parametrize("best", [None, Best(Weighing(shortlist=0.0), 1)])
def test_what_is_wanted_is_scored(best: Best | None) -> None:
    """All, or the shortlist and the parser's first, which make the same best."""
    reranker = shipped()
    lists = list(read_nbest(ROOT / "examples/parses.txt"))[::12]
    found = halving.score_together(reranker.ensemble, lists, False, None, best)
    for scores, (nbest, every) in zip(found, reranker.score_lists(lists), strict=True):
        for each, whole in zip(scores, every, strict=True):
            assert each in (None, whole)
        assert (None in scores) == (best is not None)
        weighing = Weighing(shortlist=0.0)
        some, full = (reranker.rank(nbest, each, weighing, 1) for each in (scores, every))
        assert some.ranking == full.ranking


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
