"""A tuned ensemble over HTTP, one of its members a span model: its weights hold where a request
leaves them open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reranker import Reranker
from reranker.checkpoints.ensemble_file import WeighedModels, write_ensemble_file
from reranker.client import Client
from reranker.commands.main import main
from reranker.ranking import Weighing
from reranker.ranking.confidence import Calibration
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.small_files import bllip
from tests.reranker.span_models import save_spans, untrained_spans
from tests.service.conftest import shorter_lists
from tests.service.servers import Server, serving

TUNED = Weighing(0.4, "perplexity", (0.25, 1.75, 0.75), -0.5)
# The toy models rarely gain much: small gains have to show.
KNOWN = Calibration(TUNED, 0.5, (0.25, 0.125))


def some_lists(number: int) -> str:
    return "\n\n".join(shorter_lists(number)) + "\n"


@pytest.fixture(scope="module")
def ensemble(models: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tuned") / "ensemble.toml"
    members = (*map(Path, models), Path(save_spans(path.with_name("spans.pt"), 3)))
    write_ensemble_file(path, WeighedModels(members, TUNED, KNOWN))
    return path


@pytest.fixture(scope="module")
def tuned(ensemble: Path) -> Iterator[Server]:
    with serving([str(ensemble)]) as server:
        yield server


def test_the_files_weights_are_used_unless_others_are_asked_for(
    tuned: Server, ensemble: Path, tmp_path: Path
) -> None:
    file = tmp_path / "nbest"
    file.write_text(some_lists(4), encoding="utf-8")

    def expected(*flags: str) -> list[list[tuple[int, float]]]:
        out = tmp_path / f"ranked{''.join(flags)}.jsonl"
        command = ["--nbest", str(file), "--models", str(ensemble), "--output", "ranked"]
        assert main([*command, *flags, "--out", str(out)]) == 0
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        return [[(one["index"], one["score"]) for one in row["ranking"]] for row in rows]

    def found(answer: Any) -> list[list[tuple[int, float]]]:
        return [
            [(one["index"], one["relevance_score"]) for one in sentence["ranking"]]
            for sentence in answer["sentences"]
        ]

    with tuned.client() as http:
        body: dict[str, Any] = {"nbest": file.read_text(encoding="utf-8")}
        answer = http.post("/rerank", json=body).json()
        assert found(answer) == expected()
        assert (
            " criterion=perplexity lm-weight=0.4 member-weights=0.25,1.75,0.75 token-bonus=-0.5 "
            in answer["signature"]
        )
        answer = http.post("/rerank", json={**body, "lm_weight": 1}).json()
        assert found(answer) == expected("--lm-weight", "1")
        answer = http.post("/rerank", json={**body, "criterion": "token-perplexity"}).json()
        assert found(answer) == expected("--criterion", "token-perplexity")
        # A member's part is told, and a client written for the library finds it.
        entry = answer["sentences"][0]["ranking"][0]
        assert sum(entry["member_nll"]) == pytest.approx(entry["nll"], abs=2e-4)
        with Client(tuned.url) as client:
            ranking = client.rerank_text(body["nbest"])[0].ranking[0]
            assert isinstance(ranking.member_nll, tuple) and len(ranking.member_nll) == 3


def test_a_client_that_leaves_the_weights_open_gets_the_tuned_ones(
    tuned: Server, ensemble: Path
) -> None:
    here = Reranker.load([ensemble])
    parser = [-30.5, -31.0, -30.0, -32.0, -33.0, -30.25]
    scored = [{"tree": t, "score": s} for t, s in zip(CANDIDATES, parser, strict=True)]
    with Client(tuned.url) as client:
        expected = here.rerank(CANDIDATES, parser)
        assert client.rerank(CANDIDATES, parser) == expected
        assert client.rerank_lists([{"candidates": scored}]) == [expected]
        # Of another weighing, the weight and the criterion; the members' weights stay tuned.
        asked = Weighing(0.9, "token-perplexity")
        both = TUNED.replaced(0.9, "token-perplexity")
        expected = here.rerank(CANDIDATES, parser, both)
        assert expected != here.rerank(CANDIDATES, parser)
        assert client.rerank(CANDIDATES, parser, asked) == expected
        text = bllip(CANDIDATES)
        by_default, other = client.rerank_text(text), client.rerank_text(text, asked)
        assert client.rerank_text(text, TUNED) == by_default != other


def test_a_choice_is_as_sure_as_the_commands(tuned: Server, ensemble: Path, tmp_path: Path) -> None:
    """Whatever the request asks for: null where the command writes null."""
    file = tmp_path / "nbest"
    text = some_lists(6)
    file.write_text(text, encoding="utf-8")

    def expected(*flags: str) -> list[float | None]:
        out = tmp_path / f"ranked{''.join(flags)}.jsonl"
        command = ["--nbest", str(file), "--models", str(ensemble), "--output", "ranked"]
        assert main([*command, *flags, "--out", str(out)]) == 0
        lines = out.read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["better_than_first"] for line in lines]

    def found(**options: Any) -> list[float | None]:
        answer = http.post("/rerank", json={"nbest": text, **options}).json()
        sentences = answer["sentences"]
        for one in sentences:
            assert one["best_index"] != 0 or one["better_than_first"] is None
        return [one["better_than_first"] for one in sentences]

    with tuned.client() as http:
        told = found()
        assert told == expected() == found(top_n=1)
        assert len(told) == 6 and len({*told}) > 3
        # Another weight chooses other trees, of which as much is known.
        assert found(lm_weight=1) == expected("--lm-weight", "1") != told
        assert found(lm_weight=0) == expected("--lm-weight", "0") == [None] * 6
        # Nothing is known of choices by another criterion.
        assert found(criterion="token-perplexity") == [None] * 6
        assert expected("--criterion", "token-perplexity") == [None] * 6
    with Client(tuned.url) as client:
        assert [ranking.better_than_first for ranking in client.rerank_text(text)] == told


def test_a_span_model_is_described_like_the_others(tuned: Server) -> None:
    with tuned.client() as http:
        listed = http.get("/models").json()["models"]
        assert [each["name"] for each in listed] == ["model-1.pt", "model-2.pt", "spans.pt"]
        spans = untrained_spans(3)
        assert listed[2]["vocabulary_size"] == len(spans.vocabulary)
        assert listed[2]["parameters"] == spans.parameters
        report = http.post("/validate", json={"nbest": bllip(CANDIDATES)}).json()
        assert report["unknown_words"]["spans.pt"] == sum(
            map(spans.vocabulary.is_unknown, ["We", "saw", "the", "man", "with", "eyes", "."])
        )
