"""``--sha256``: the service starts and reloads with the pinned checkpoints only."""

from __future__ import annotations

import signal
from pathlib import Path

from reranker.files.opening import file_sha256
from tests.service.conftest import save_models
from tests.service.servers import serving


def test_only_pinned_checkpoints_are_served(tmp_path: Path) -> None:
    (served,) = save_models(tmp_path, 1)
    (tmp_path / "others").mkdir()
    (other,) = map(Path, save_models(tmp_path / "others", 2))
    pin, found = file_sha256(served), file_sha256(other)
    with serving([served], RERANK_SHA256=pin[:8], RERANK_ADMIN_KEYS="boss") as server:
        Path(served).write_bytes(other.read_bytes())
        with server.client(headers={"X-API-Key": "boss"}) as client:
            answer = client.post("/models/reload")
            assert answer.status_code == 409
            message = f"model-1.pt: its SHA-256 is {found}, not one of {pin[:8]}"
            assert answer.json()["error"]["message"] == message
            server.process.send_signal(signal.SIGHUP)
            server.logged("models not reloaded", message=f"{tmp_path}/{message}")
            assert [model["sha256"] for model in client.get("/models").json()["models"]] == [pin]


def test_with_other_checkpoints_it_does_not_start(models: list[str]) -> None:
    with serving(models, "--sha256", "0" * 8, file_sha256(models[0]), wait=False) as server:
        assert server.end() == 2
        found = file_sha256(models[1])
        message = f"rerank: {models[1]}: its SHA-256 is {found}, not one of 00000000"
        assert [line["event"] for line in server.log] == [message]
