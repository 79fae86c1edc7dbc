"""Reloading under load: nobody is refused, and each answer is of one set of models."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import httpx
import pytest

from benchmarks.service_load.watching import usage
from reranker import Reranker
from tests.service.children.test_processes import children_of
from tests.service.conftest import BOSS, save_models
from tests.service.servers import Server, sentence, serving
from tests.waiting import PATIENCE, until

WORDS = ("We", "saw", "it")
BODY = {"sentences": [sentence(*WORDS)] * 3}
CHECKPOINTS = str(Path(__file__).parents[2] / "ckpt" / "*.pt")


class Answer(NamedTuple):
    asked: float
    status: int
    models: tuple[str, ...]
    scores: set[float]


def test_no_answer_is_lost_or_mixed(reloading: Server, served_folder: Path) -> None:
    """Two clients ask all the time, one on an open and one on new connections, while the models
    are replaced twice. Requests after a reload get the new models. Models of two engines:
    scheduling/test_engines.py."""
    sets = [expected(served_folder, 1)]
    answers: list[Answer] = []
    is_over = threading.Event()
    with ThreadPoolExecutor(2) as threads:
        asking = [
            threads.submit(ask, reloading, is_over, answers, is_open) for is_open in (True, False)
        ]
        reloaded = []
        for seed in (2, 3):
            until_answered_by(sets[-1], answers)
            sets.append(expected(served_folder, seed))
            done = httpx.post(f"{reloading.url}/models/reload", headers=BOSS, timeout=PATIENCE)
            assert done.status_code == 200
            assert models_in(done.json()) == sets[-1][0]
            reloaded.append(time.monotonic())
        until_answered_by(sets[-1], answers)
        is_over.set()
        for one in asking:
            one.result()
    assert {answer.status for answer in answers} == {200}
    known = dict(sets)
    for answer in answers:
        assert answer.scores == {known[answer.models]}
    for before, (models, _) in enumerate(sets):
        seen = [answer for answer in answers if answer.models == models]
        assert seen
        if before < len(reloaded):
            assert max(answer.asked for answer in seen) < reloaded[before]


def until_answered_by(newest: tuple[tuple[str, ...], float], answers: list[Answer]) -> None:
    until(lambda: any(answer.models == newest[0] for answer in answers))


def expected(folder: Path, seed: int) -> tuple[tuple[str, ...], float]:
    """Replace the checkpoint in the folder: its hash, and its figure for the tree."""
    (path,) = save_models(folder, seed)
    Path(path).replace(folder / "model-1.pt")
    reranker = Reranker.load(folder)
    ranking = reranker.rerank(BODY["sentences"][0]["candidates"]).ranking
    return tuple(member.sha256 for member in reranker.members), ranking[0].score


def ask(server: Server, is_over: threading.Event, answers: list[Answer], keeps_open: bool) -> None:
    with server.client() as client:
        while not is_over.is_set():
            asked = time.monotonic()
            post = client.post if keeps_open else partial(httpx.post, verify=False)
            answer = post(f"{server.url}/rerank", json=BODY, timeout=PATIENCE)
            found = answer.json()
            scores = {one["ranking"][0]["relevance_score"] for one in found["sentences"]}
            answers.append(Answer(asked, answer.status_code, models_in(found), scores))


def models_in(answer: dict[str, Any]) -> tuple[str, ...]:
    return tuple(one["sha256"] for one in answer["models"])


@pytest.mark.slow
@pytest.mark.parametrize("engines", ["1", "2"])
def test_memory_comes_back(engines: str) -> None:
    """A set of models takes more than 50 MB; ten reloads leave less than one behind, by the medians
    of the first ten and of the next, since what is in memory after each varies by 30 MB."""
    flags = ("--engines", engines, "--threads", "1")
    with serving([CHECKPOINTS], *flags, RERANK_ADMIN_KEYS="boss") as server:
        processes = [server.process.pid, *children_of(server, "scoring_main")]
        resident = []
        with server.client() as client:
            for _ in range(20):
                client.post("/models/reload", headers=BOSS).raise_for_status()
                client.post("/rerank", json=BODY).raise_for_status()
                time.sleep(0.5)
                resident.append([usage(pid).megabytes for pid in processes])
    for megabytes in zip(*resident, strict=True):  # the first is the sum of all
        assert median(megabytes[10:]) - median(megabytes[:10]) < 40, resident
