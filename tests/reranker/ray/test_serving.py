"""The service as an application of Ray Serve."""

from __future__ import annotations

import gc
import socket

import httpx
import pytest

from tests.reranker.ensembles import CANDIDATES
from tests.service.servers import serving

pytest.importorskip("ray.serve", reason="needs the extra: pip install '.[ray]'")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_it_answers_what_the_service_answers(
    models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray
    from ray import serve

    from reranker.ray import app

    monkeypatch.setenv("RAY_worker_niceness", "0")
    body = {"sentences": [{"candidates": [{"tree": tree} for tree in CANDIDATES]}]}
    with serving(models) as server, server.client() as client:
        expected = client.post("/rerank", json=body, headers={"X-Request-ID": "one"})
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        serve.start(http_options={"port": port})
        serve.run(app({"models": ",".join(models)}), route_prefix="/")
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            answer = client.post("/rerank", json=body, headers={"X-Request-ID": "one"})
            assert answer.status_code == expected.status_code == 200
            assert answer.json() == expected.json()
            assert client.get("/health/ready").status_code == 200
            assert client.post("/rerank", content=b"{").status_code == 400
    finally:
        serve.shutdown()
        ray.shutdown()
        gc.collect()  # Ray's processes, which it does not wait for: a warning that is no news
