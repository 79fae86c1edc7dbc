"""Checkpoints and a bucket for the tests of commands."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import torch

from reranker.checkpoints.checkpoint import save_checkpoint
from reranker.checkpoints.span_file import save_span_model
from tests.reranker.ensembles import untrained
from tests.reranker.span_models import untrained_spans


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Write two untrained checkpoints."""
    folder = tmp_path_factory.mktemp("checkpoints")
    paths = []
    for seed in (1, 2):
        member = untrained(seed)
        path = folder / f"model-{seed}.pt"
        save_checkpoint(path, member.model, member.vocabulary, {}, torch.float32)
        paths.append(str(path))
    return paths


@pytest.fixture(scope="session")
def span_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write an untrained parser whose temperature is 2."""
    path = tmp_path_factory.mktemp("spans") / "spans.pt"
    member = untrained_spans(3, encoder=True)
    save_span_model(path, member.model, member.vocabulary, {"temperature": 2.0}, torch.float32)
    return str(path)


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
