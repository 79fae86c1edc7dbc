"""Checkpoints and a bucket for the tests of commands."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.reranker.ensembles import save, untrained
from tests.reranker.span_models import save_spans


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Write two untrained checkpoints."""
    folder = tmp_path_factory.mktemp("checkpoints")
    return [save(folder / f"model-{seed}.pt", untrained(seed)) for seed in (1, 2)]


@pytest.fixture(scope="session")
def span_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write an untrained parser whose temperature is 2."""
    path = tmp_path_factory.mktemp("spans") / "spans.pt"
    return save_spans(path, 3, {"temperature": 2.0}, encoder=True)


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """Yield the URL of an S3 bucket, behind real HTTP; the environment has its credentials."""
    needed = "needs the extra: pip install '.[ray-tests]'"
    server = pytest.importorskip("moto.server", reason=needed)
    s3fs = pytest.importorskip("s3fs", reason=needed)
    running = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        environment.setenv("AWS_ACCESS_KEY_ID", "name")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3fs.S3FileSystem.clear_instance_cache()
        name = f"bucket-{time.time_ns()}"
        s3fs.S3FileSystem().mkdir(name)
        yield f"s3://{name}"
    running.stop()
    s3fs.S3FileSystem.clear_instance_cache()
