"""An S3 server of this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty bucket, behind real HTTP; the environment has its credentials."""
    server = pytest.importorskip(
        "moto.server", reason="needs the extra: pip install '.[ray-tests]'"
    )
    s3fs = pytest.importorskip("s3fs")
    running = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "name")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    name = f"bucket-{time.time_ns()}"
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir(name)
    yield f"s3://{name}"
    running.stop()
    s3fs.S3FileSystem.clear_instance_cache()
