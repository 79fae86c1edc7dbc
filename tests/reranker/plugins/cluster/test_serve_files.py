"""Ray Serve's own way: a cluster, and files that say what it serves."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import yaml

from reranker.plugins.cluster.autoscaling import WORK, QueuedWork
from reranker.service.settings import Settings
from tests.reranker.ensembles import CANDIDATES
from tests.reranker.plugins.cluster.lists import write_shard

NEEDS_RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs '.[ray]'")
PAGE = Path(__file__).parents[4] / "docs" / "cluster.md"
SENTENCES = [{"candidates": [{"tree": tree} for tree in CANDIDATES]}]
SECONDS = 600
"""For anything of Ray's, on a busy machine."""


def file_of_the_page() -> dict[str, Any]:
    """Return the file for ``serve deploy`` in docs/cluster.md."""
    (content,) = re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE.read_text("utf-8"))
    given: dict[str, Any] = yaml.safe_load(content)
    return given


def test_the_file_of_the_page_is_an_application_that_ray_takes() -> None:
    schema = pytest.importorskip("ray.serve.schema", reason="needs the extra: '.[ray]'")
    (application,) = schema.ServeDeploySchema.model_validate(file_of_the_page()).applications
    assert application.import_path == "reranker.plugins.cluster:app"
    assert application.args.keys() <= Settings.model_fields.keys()
    assert [each.name for each in application.deployments] == ["Replica"]


class Context(NamedTuple):
    """The part of Ray's context that a policy reads."""

    aggregated_metrics: Mapping[str, Mapping[str, float]] | None


@pytest.mark.parametrize(
    ("reported", "wanted"),
    [(None, 0), ({}, 0), ({WORK: {"a": 1.0}}, 0.5), ({WORK: {"a": 9.0, "b": 1.0}, "other": {}}, 5)],
)
def test_replicas_follow_the_work_that_is_queued(reported: Any, wanted: float) -> None:
    assert QueuedWork(2)(Context(reported)) == (wanted, {})


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_some_work_is_left_to_each(seconds: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        QueuedWork(seconds)


class Cluster(NamedTuple):
    head: str
    dashboard: str
    environment: dict[str, str]
    url: str
    """Of the service."""

    def deploy(self, file: Path, models: list[str], **replicas: Any) -> None:
        """Deploy the service of docs/cluster.md, with these changes."""
        given = file_of_the_page()
        given["http_options"] = {"host": "127.0.0.1", "port": int(self.url.rpartition(":")[2])}
        (application,) = given["applications"]
        application["args"] = {"models": models}
        (deployment,) = application["deployments"]
        deployment["ray_actor_options"] = {"num_cpus": 1}
        deployment["autoscaling_config"] |= {"metrics_interval_s": 1, **replicas}
        file.write_text(yaml.safe_dump(given))
        self._serve("deploy", str(file))

    def running(self) -> int:
        """Count the replicas that answer."""
        status = yaml.safe_load(self._serve("status"))
        deployments = status["applications"].get("rerank", {}).get("deployments", {})
        states = deployments.get("Replica", {}).get("replica_states") or {}
        return int(states.get("RUNNING", 0))

    def until(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < until
            time.sleep(0.5)

    def models(self) -> list[str] | None:
        """Return the models of the service; None while it does not answer."""
        with contextlib.suppress(httpx.HTTPError):
            answer = httpx.get(f"{self.url}/models", timeout=60)
            if answer.status_code == 200:
                return [model["name"] for model in answer.json()["models"]]
        return None

    def _serve(self, *arguments: str) -> str:
        command = [str(Path(sys.executable).with_name("serve")), *arguments]
        ended = subprocess.run(
            [*command, "--address", self.dashboard],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Start a cluster that asks for a token, as Ray's do by default."""
    environment = {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "a" * 64,
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    head, dashboard, agent, service = _free_ports(4)
    ports = ["--port", str(head), "--dashboard-port", str(dashboard)]
    ports += ["--dashboard-agent-listen-port", str(agent)]
    with tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True) as folder:  # sockets
        ray = str(Path(sys.executable).with_name("ray"))
        room = ["--num-cpus", "4", "--object-store-memory", "100000000", "--temp-dir", folder]
        process = subprocess.Popen(
            [ray, "start", "--head", "--block", *room, *ports],
            env=environment,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _until_open(dashboard)
            host = "127.0.0.1"
            dashboard_url, url = f"http://{host}:{dashboard}", f"http://{host}:{service}"
            yield Cluster(f"{host}:{head}", dashboard_url, environment, url)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as together:
        listeners = [together.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [int(listener.getsockname()[1]) for listener in listeners]


def _until_open(port: int) -> None:
    until = time.monotonic() + SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        assert time.monotonic() < until
        time.sleep(0.2)


@contextlib.contextmanager
def _asking(cluster: Cluster, lists: int, threads: int) -> Iterator[list[int | str]]:
    """Send requests all the time; yield the list of the service's answers."""
    over = threading.Event()
    answers: list[int | str] = []
    body = json.dumps({"sentences": SENTENCES * lists}).encode()

    def ask() -> None:
        with httpx.Client(timeout=SECONDS, headers={"Content-Type": "application/json"}) as client:
            while not over.is_set():
                try:
                    answers.append(client.post(f"{cluster.url}/rerank", content=body).status_code)
                except httpx.HTTPError as error:
                    answers.append(repr(error))

    asking = [threading.Thread(target=ask) for _ in range(threads)]
    for thread in asking:
        thread.start()
    try:
        yield answers
    finally:
        over.set()
        for thread in asking:
            thread.join()


@NEEDS_RAY
@pytest.mark.slow
def test_new_models_take_over_while_requests_are_answered(
    cluster: Cluster, models: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "service.yaml"
    cluster.deploy(file, models[:1])
    cluster.until(lambda: cluster.models() == ["model-1.pt"])
    with _asking(cluster, lists=1, threads=2) as answers:
        cluster.deploy(file, models[1:])
        cluster.until(lambda: cluster.models() == ["model-2.pt"])
        time.sleep(5)
        assert cluster.models() == ["model-2.pt"]
    assert len(answers) > 20
    assert {*answers} == {200}


@NEEDS_RAY
@pytest.mark.slow
def test_replicas_come_with_the_work_and_go_with_it(
    cluster: Cluster, models: list[str], tmp_path: Path
) -> None:
    delays = {"look_back_period_s": 2, "upscale_delay_s": 1, "downscale_delay_s": 2}
    policy = {
        "policy_function": "reranker.plugins.cluster.autoscaling:QueuedWork",
        "policy_kwargs": {"seconds": 0.02},
    }
    cluster.deploy(tmp_path / "service.yaml", models[:1], max_replicas=2, policy=policy, **delays)
    cluster.until(lambda: cluster.running() == 1)
    with _asking(cluster, lists=900, threads=3) as answers:
        cluster.until(lambda: bool({*answers} - {200}) or cluster.running() == 2)
    assert {*answers} == {200}
    cluster.until(lambda: cluster.running() == 1)


@NEEDS_RAY
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["", "token"])
def test_a_cluster_can_ask_for_a_token(
    cluster: Cluster, models: list[str], tmp_path: Path, mode: str
) -> None:
    write_shard(tmp_path / "lists.txt", 1, 4)
    command = [sys.executable, "-m", "reranker", "cluster", "--address", cluster.head]
    command += ["--nbest", str(tmp_path / "lists.txt"), "--out", str(tmp_path / "out")]
    environment = {**cluster.environment, "RAY_AUTH_MODE": mode}
    if not mode:
        del environment["RAY_AUTH_MODE"]
    ended = subprocess.run(
        [*command, "--models", *models],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if mode:
        assert ended.returncode == 0, ended.stderr
    else:
        assert ended.returncode == 2
        assert ended.stderr.endswith("if it asks for a token: RAY_AUTH_MODE=token\n")
