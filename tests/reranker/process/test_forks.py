"""Real forks and real pools of processes: nothing waits for threads that are gone, and scores are
the same to the last bit."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from reranker.errors import CheckpointError, InputError, RerankError
from reranker.pipeline import Reranker
from reranker.ranking import Weighing
from reranker.scoring.lanes import Lanes
from tests.reranker.ensembles import CANDIDATES, untrained
from tests.reranker.forks import SECONDS, in_child

_of_parent: Reranker


def scores(reranker: Reranker) -> list[tuple[int, float]]:
    return [(each.index, each.nll) for each in reranker.rerank(CANDIDATES)]


def scores_of_parent(_: int) -> list[tuple[int, float]]:
    return scores(_of_parent)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_pool_that_is_forked_after_the_first_use(models: list[str], threads: int) -> None:
    global _of_parent
    _of_parent = Reranker.load(models, threads=threads)
    expected = scores(_of_parent)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(scores_of_parent, range(4)).get(SECONDS) == [expected] * 4
    assert scores(_of_parent) == expected, "the parent's own lanes go on"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_pool_that_is_given_the_reranker(models: list[str], method: str) -> None:
    reranker = Reranker.load(models, threads=1)
    expected = scores(reranker)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map_async(scores, [reranker] * 2).get(SECONDS) == [expected] * 2


def test_a_child_of_a_child_scores(models: list[str]) -> None:
    reranker = Reranker.load(models, threads=1)
    expected = scores(reranker)
    assert in_child(lambda: (scores(reranker), in_child(lambda: scores(reranker)))) == (
        expected,
        expected,
    )


def test_a_child_loads_though_its_parent_used_torch_s_own_threads(models: list[str]) -> None:
    torch.set_num_threads(2)
    many = torch.ones(1 << 20).exp()  # starts them
    expected = scores(Reranker.load(models))

    def work() -> tuple[float, list[tuple[int, float]]]:
        return float(torch.ones(1 << 20).exp().min()), scores(Reranker.load(models))

    assert in_child(work) == (float(many.min()), expected)


@pytest.fixture
def _at_work() -> Iterator[None]:
    """Keep some lanes busy with a job."""
    begun, ended = threading.Event(), threading.Event()

    def job() -> None:
        begun.set()
        ended.wait()

    done = Lanes(1).direct(job)
    begun.wait()
    yield
    ended.set()
    done.result()


@pytest.mark.usefixtures("_at_work")
def test_a_child_that_is_forked_among_work_says_so_at_once(models: list[str]) -> None:
    reranker = Reranker.load(models, threads=1)
    expected = scores(reranker)
    begun = reranker.rerank_lists([CANDIDATES] * 100)  # some pools of lists
    next(begun)

    def why(call: Callable[[], object]) -> str:
        try:
            call()
        except RerankError as error:
            return str(error)
        return ""

    told = in_child(lambda: [why(lambda: scores(reranker)), why(lambda: list(begun))])
    assert all("forked while models were scoring" in reason for reason in told)
    rest = [[(each.index, each.nll) for each in ranking] for ranking in begun]
    assert rest == [expected] * 99, "the parent goes on"


def test_a_child_may_fork_when_all_is_done(models: list[str]) -> None:
    """A job counts as done as soon as its result is there: no fork right behind it is refused."""
    reranker = Reranker.load(models, threads=2)
    for _ in range(8):
        expected = scores(reranker)
        assert in_child(lambda: scores(reranker)) == expected


def test_pickled_it_is_what_it_was_loaded_from(
    models: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    for path in map(Path, models):
        (folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    reranker = Reranker.load("models/", "sum", "cpu", 1, "fast", Weighing(1, "token-perplexity"))
    pickled = pickle.dumps(reranker)
    assert len(pickled) < 2_000
    monkeypatch.chdir("/")
    again = pickle.loads(pickled)
    assert again.signature(again.weighing) == reranker.signature(reranker.weighing)
    assert scores(again) == scores(reranker)
    (folder / Path(models[0]).name).write_bytes(Path(models[1]).read_bytes())
    with pytest.raises(CheckpointError, match="its SHA-256 is"):
        pickle.loads(pickled)


def test_models_in_memory_are_not_pickled() -> None:
    with pytest.raises(InputError, match=r"Reranker\.load"):
        pickle.dumps(Reranker([untrained(1)]))
