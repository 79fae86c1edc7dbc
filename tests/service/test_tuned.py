"""A tuned ensemble over HTTP: its weights hold where a request leaves them open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reranker.cli import main
from reranker.client import Client
from reranker.ensemble_file import WeighedModels, write_ensemble_file
from reranker.ranking import Weighing
from tests.service.conftest import EXAMPLE
from tests.service.servers import serving


def test_the_files_weights_are_used_unless_others_are_asked_for(
    models: list[str], tmp_path: Path
) -> None:
    ensemble = tmp_path / "ensemble.toml"
    paths = tuple(map(Path, models))
    write_ensemble_file(
        ensemble, WeighedModels(paths, Weighing(0.4, "perplexity", (0.25, 1.75), -0.5))
    )

    def expected(*flags: str) -> list[list[tuple[int, float]]]:
        out = tmp_path / f"ranked{''.join(flags)}.jsonl"
        command = ["--nbest", str(EXAMPLE), "--models", str(ensemble), "--output", "ranked"]
        assert main([*command, *flags, "--out", str(out)]) == 0
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        return [[(one["index"], one["score"]) for one in row["ranking"]] for row in rows]

    def found(answer: Any) -> list[list[tuple[int, float]]]:
        return [
            [(one["index"], one["relevance_score"]) for one in sentence["ranking"]]
            for sentence in answer["sentences"]
        ]

    with serving([str(ensemble)]) as server, server.client() as http:
        body: dict[str, Any] = {"nbest": EXAMPLE.read_text(encoding="utf-8")}
        answer = http.post("/rerank", json=body).json()
        assert found(answer) == expected()
        assert (
            " criterion=perplexity lm-weight=0.4 member-weights=0.25,1.75 token-bonus=-0.5 "
            in answer["signature"]
        )
        answer = http.post("/rerank", json={**body, "lm_weight": 1}).json()
        assert found(answer) == expected("--lm-weight", "1")
        answer = http.post("/rerank", json={**body, "criterion": "token-perplexity"}).json()
        assert found(answer) == expected("--criterion", "token-perplexity")
        # A member's part is told, and a client written for the library finds it.
        entry = answer["sentences"][0]["ranking"][0]
        assert sum(entry["member_nll"]) == pytest.approx(entry["nll"], abs=2e-4)
        with Client(server.url) as client:
            ranking = client.rerank_text(body["nbest"])[0].ranking[0]
            assert isinstance(ranking.member_nll, tuple) and len(ranking.member_nll) == 2
