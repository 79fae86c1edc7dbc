"""``POST /surprisal``: text in; out come the numbers of ``rerank surprisal``, to the last digit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from reranker.checkpoints.checkpoint import save_checkpoint
from reranker.client import Client
from reranker.commands.main import main
from reranker.service.requests import schemas
from tests.reranker.plugins.surprisal.toy import checkpoint
from tests.service.children.test_processes import children_of, kill
from tests.service.http.test_rerank import metric
from tests.service.requests.test_limits import error_of
from tests.service.servers import Server, serving
from tests.waiting import until

TEXT = (
    "It rains here. Boxes (and otters)!\n\nDon't rain.\nIt rains here, it rains here, it rains.\n"
)
LONG = {"text": "It rains here. " * 40, "beam": 50}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("surprisal")
    made = {
        "backward": checkpoint(1, backward=True),
        "forward": checkpoint(1),
        "other": checkpoint(2),
    }
    for name, member in made.items():
        path = folder / f"{name}.pt"
        save_checkpoint(path, member.model, member.vocabulary, {}, torch.float32)
    return {name: str(folder / f"{name}.pt") for name in made}


@pytest.fixture(scope="module")
def reading(saved: dict[str, str]) -> Iterator[Server]:
    models = [saved["backward"], saved["forward"], saved["other"]]
    limits = ("--max-beam", "50", "--max-sentences", "40", "--longest", "12")
    with serving(models, *limits) as server:
        yield server


@pytest.fixture(scope="module")
def http(reading: Server) -> Iterator[httpx.Client]:
    with reading.client() as client:
        yield client


def command(model: str, text: str, folder: Path, *flags: str) -> list[dict[str, Any]]:
    """Return the output of ``rerank surprisal --output json``, without the fields that are the same
    for all sentences and without the file's name, which differs."""
    file, out = folder / "text.txt", folder / "out"
    file.write_text(text)
    out.unlink(missing_ok=True)
    run = ["surprisal", str(file), "--models", model, "--output", "json", "--longest", "12"]
    assert main([*run, "--out", str(out), *flags]) in (0, 1)
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    for row in rows:
        for name in ("file", "models", "beam", "unit", "unknown_words"):
            del row[name]
    return rows


@pytest.mark.parametrize("unit, rows, beam", [("bits", "word", 10), ("nats", "token", 3)])
def test_the_answer_is_the_commands(
    http: httpx.Client, saved: dict[str, str], tmp_path: Path, unit: str, rows: str, beam: int
) -> None:
    text = f"{TEXT}\n{'rain ' * 13}\n"  # the last sentence is too long
    flags = ("--unit", unit, "--rows", rows, "--beam", str(beam))
    expected = command(saved["forward"], text, tmp_path, *flags)
    assert [sentence["problem"] for sentence in expected] == [None] * 4 + ["13 words, more than 12"]
    asked: dict[str, Any] = {"unit": unit, "rows": rows, "beam": beam}
    answer = http.post("/surprisal", json={"text": text, **asked}).json()
    assert answer["sentences"] == expected
    assert (answer["beam"], answer["unit"], answer["warnings"]) == (beam, unit, [])
    (model,) = answer["models"]
    assert model.startswith("forward.pt ") and http.get("/info").json()["surprisal"] == "forward.pt"
    schemas.SurprisalAnswer.model_validate_json(json.dumps(answer), strict=True)
    plain = http.post(
        "/surprisal", content=text, params=asked, headers={"Content-Type": "text/plain"}
    ).json()
    assert plain["sentences"] == expected and plain["id"] != answer["id"]


def test_sentences_and_tokens_are_as_given(
    http: httpx.Client, reading: Server, saved: dict[str, str], tmp_path: Path
) -> None:
    lines = ["It rains here. It rains!", "Boxes"]
    body = {"sentences": lines, "beam": 5}
    expected = command(
        saved["forward"], "".join(f"{line}\n" for line in lines), tmp_path,
        "--sentences", "--beam", "5",
    )  # fmt: skip
    given = http.post("/surprisal", json=body).json()["sentences"]
    assert [row["surprisal"] for row in given] == [row["surprisal"] for row in expected]
    with Client(reading.url) as client:
        assert client.surprisal(lines, beam=5) == given
    words = http.post("/surprisal", json={"tokens": [["It", "rains", "!"]], "beam": 5}).json()
    assert [row["text"] for row in words["sentences"][0]["words"]] == ["It", "rains", "!"]


def test_what_is_replaced_is_warned_of(http: httpx.Client) -> None:
    answer = http.post("/surprisal", json={"text": "It \x00 rains.", "beam": 2}).json()
    assert "U+FFFD is in its place" in answer["warnings"][0]


@pytest.mark.parametrize(
    "body, status, code, message",
    [
        ({"text": "It rains.", "beam": 51}, 422, "over-limit", "max_beam = 50"),
        ({"text": "It rains.", "beam": 0}, 422, "invalid", "greater than or equal to 1"),
        ({"text": "It rains.", "unit": "bans"}, 422, "invalid", "'bits' or 'nats'"),
        ({"text": "It rains.", "top_n": 1}, 422, "invalid", "no field 'top_n'"),
        ({"sentences": ["It"] * 41, "beam": 5}, 422, "over-limit", "max_sentences = 40"),
        ({"text": " \n", "beam": 5}, 422, "unreadable", "no words"),
    ],
)
def test_limits_and_wrong_fields(
    http: httpx.Client, body: dict[str, Any], status: int, code: str, message: str
) -> None:
    answer = http.post("/surprisal", json=body)
    assert (answer.status_code, error_of(answer)["code"]) == (status, code)
    assert message in error_of(answer)["message"]


def test_the_deadline_ends_it_and_so_does_the_client(
    http: httpx.Client, reading: Server, saved: dict[str, str]
) -> None:
    """No work goes on: a later request is answered at once."""
    late = http.post("/surprisal", json=LONG, headers={"X-Request-Timeout": "0.2"})
    assert (late.status_code, error_of(late)["code"]) == (504, "deadline")
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{reading.url}/surprisal", json=LONG, timeout=0.3)
    until(lambda: metric(http, 'rerank_dropped_total{reason="disconnect"}') >= 1)
    until(lambda: metric(http, "rerank_requests_in_flight") == 0)
    until(lambda: metric(http, 'rerank_reading_busy{pool="words"}') == 0)
    assert http.post("/surprisal", json={"text": "It rains.", "beam": 1}).status_code == 200


def test_clients_take_turns(reading: Server) -> None:
    """A later client's sentence does not wait for forty of another client's. Clients are
    distinguished by their addresses."""

    def ask(address: str, body: dict[str, Any]) -> float:
        transport = httpx.HTTPTransport(local_address=address)
        with httpx.Client(base_url=reading.url, transport=transport, timeout=120) as client:
            answer = client.post("/surprisal", json=body)
            assert answer.status_code == 200, answer.text
            return answer.elapsed.total_seconds()

    with ThreadPoolExecutor(2) as threads:
        long = threads.submit(ask, "127.0.0.1", LONG)
        with reading.client() as client:
            until(lambda: metric(client, 'rerank_reading_busy{pool="words"}') > 0)
        short = threads.submit(ask, "127.0.0.2", {"text": "It rains.", "beam": 50})
        short.result()
        assert not long.done()
        long.result()


def test_a_child_that_dies_costs_one_request(http: httpx.Client, reading: Server) -> None:
    expected = http.post("/surprisal", json={"text": "It rains.", "beam": 5}).json()["sentences"]
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(http.post, "/surprisal", json=LONG)
        until(lambda: metric(http, 'rerank_reading_busy{pool="words"}') > 0)
        kill(*children_of(reading, "service_child"))
        answer = asked.result()
    assert (answer.status_code, error_of(answer)["code"]) == (503, "surprisal-crashed")
    again = http.post("/surprisal", json={"text": "It rains.", "beam": 5})
    assert again.json()["sentences"] == expected
    assert metric(http, 'rerank_child_restarts_total{child="surprisal"}') == 1
