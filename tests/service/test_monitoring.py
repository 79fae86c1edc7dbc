"""What watches the service asks for what it has, with a key where one is needed."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.service.servers import Server, serving
from tests.waiting import until

DOCKER = Path(__file__).parents[2] / "docker"
PROMETHEUS = DOCKER / "prometheus"
ALERTS = PROMETHEUS / "alerts.yml"
SECRET = "/run/secrets/prometheus_key"

needs_promtool = pytest.mark.skipif(
    not shutil.which("promtool"), reason="this machine has no promtool"
)
needs_prometheus = pytest.mark.skipif(
    not shutil.which("prometheus"), reason="this machine has no prometheus"
)


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DOCKER / "grafana" / "dashboard.json").read_text())[
        "panels"
    ]
    return found


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def series(http: httpx.Client) -> dict[str, set[str]]:
    """The label pairs and names of labels of everything that is exported."""
    text = http.get("/metrics").text
    found: dict[str, set[str]] = {}
    for name in re.findall(r"^# TYPE (\w+)", text, re.MULTILINE):
        found |= {f"{name}{part}": set() for part in ("", "_bucket", "_sum", "_count")}
    for name, labels in re.findall(r"^(\w+)\{(.*)\} ", text, re.MULTILINE):
        for pair in re.findall(r'\w+="[^"]*"', labels):
            found[name] |= {pair, pair.partition("=")[0]}
    return found


def queries() -> list[str]:
    shown = [one["expr"] for panel in panels() for one in panel["targets"]]
    return shown + [rule["expr"] for rule in rules()]


@pytest.mark.parametrize("query", queries())
def test_what_is_asked_for_exists(http: httpx.Client, query: str) -> None:
    """Its metrics, and their labels; values of limits and results too."""
    http.post("/rerank", content=b"{")  # a first request gives its metrics their labels
    exported = series(http)
    names = set(re.findall(r"\b(?:rerank|process)_\w+", query)) - {"rerank"}
    assert names or "up{" in query
    assert names <= exported.keys()
    for name, labels in re.findall(r"\b((?:rerank|process)_\w+)\{([^}]*)\}", query):
        for label, operator, value in re.findall(r'(\w+)\s*(=~|!~|!=|=)"([^"]*)"', labels):
            assert label in exported[name] | {"job", "instance"}
            if label in ("setting", "result"):
                assert operator == "=" and f'{label}="{value}"' in exported[name]


def test_panels_have_their_own_places() -> None:
    corners = [(one["gridPos"]["x"], one["gridPos"]["y"]) for one in panels()]
    assert len(set(corners)) == len({one["id"] for one in panels()}) == len(panels())


def test_alerts_say_how_bad_it_is_and_what_it_is() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names)
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"]


def test_every_alert_has_a_test_in_which_it_fires() -> None:
    tests = yaml.safe_load((PROMETHEUS / "alerts.test.yml").read_text())["tests"]
    fired = {
        one["alertname"]
        for test in tests
        for one in test.get("alert_rule_test", ())
        if one["exp_alerts"]
    }
    assert fired == {rule["alert"] for rule in rules()}


def test_the_memory_alert_is_three_quarters_of_the_limits() -> None:
    (expression,) = [rule["expr"] for rule in rules() if rule["alert"] == "RerankMemory"]
    gigabytes = int(re.findall(r"> (\d+) \* 1024 \^ 3", expression)[0])
    compose = yaml.safe_load((DOCKER / "docker-compose.yml").read_text())["services"]["rerank"]
    deployment = next(yaml.safe_load_all((DOCKER / "kubernetes" / "deployment.yaml").read_text()))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert compose["deploy"]["resources"]["limits"]["memory"] == f"{gigabytes * 4 // 3}G"
    assert container["resources"]["limits"]["memory"] == f"{gigabytes * 4 // 3}Gi"


@needs_promtool
@pytest.mark.parametrize(
    "arguments",
    [["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]],
    ids=" ".join,
)
def test_promtool_agrees(arguments: list[str]) -> None:
    done = subprocess.run(["promtool", *arguments], cwd=PROMETHEUS, capture_output=True, text=True)
    assert done.returncode == 0 and "SUCCESS" in done.stdout, done.stdout + done.stderr


@needs_promtool
def test_promtool_sees_a_rule_that_never_fires(tmp_path: Path) -> None:
    """The same tests of rules that compare the wrong way round."""
    (tmp_path / "alerts.yml").write_text(ALERTS.read_text().replace("> 0", "< 0"))
    shutil.copy(PROMETHEUS / "alerts.test.yml", tmp_path)
    command = ["promtool", "test", "rules", "alerts.test.yml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "RerankScoringCrashes" in done.stdout + done.stderr


@pytest.fixture(scope="module")
def keys_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "rerank_keys"
    path.write_text("first-key # newspaper\nscraping-key # prometheus\n")
    return path


@pytest.fixture(scope="module")
def guarded(models: list[str], keys_file: Path) -> Iterator[Server]:
    with serving(models, "--api-keys-file", str(keys_file)) as server:
        yield server


def scrape_settings() -> dict[str, Any]:
    (one,) = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())["scrape_configs"]
    assert isinstance(one, dict)
    return one


def test_metrics_are_for_who_has_a_key(guarded: Server) -> None:
    """As Prometheus asks: it sends the file's text as a bearer token."""
    assert scrape_settings()["authorization"] == {"credentials_file": SECRET}
    compose = yaml.safe_load((DOCKER / "docker-compose.yml").read_text())
    assert compose["services"]["prometheus"]["secrets"] == [Path(SECRET).name]
    with guarded.client() as client:
        for given, status in (("scraping-key", 200), ("other", 401), (None, 401)):
            headers = {} if given is None else {"Authorization": f"Bearer {given}"}
            assert client.get("/metrics", headers=headers).status_code == status
        text = client.get("/metrics", headers={"Authorization": "Bearer scraping-key"}).text
        assert 'rerank_key_requests_total{key="prometheus",status="2xx"} 1.0' in text


@contextlib.contextmanager
def prometheus(folder: Path, target: str, key: str) -> Iterator[httpx.Client]:
    """Prometheus as configured, but for the address of the service and of the file with the key."""
    text = (PROMETHEUS / "prometheus.yml").read_text()
    assert text.count("rerank:8000") == text.count(SECRET) == 1
    secret = folder / "prometheus_key"
    secret.write_text(f"{key}\n")
    config = folder / "prometheus.yml"
    config.write_text(text.replace("rerank:8000", target).replace(SECRET, str(secret)))
    shutil.copy(ALERTS, folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    flags = [f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    command = ["prometheus", *flags, f"--web.listen-address=127.0.0.1:{port}"]
    log = (folder / "log").open("w")
    process = subprocess.Popen(command, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1") as client:
            yield client
    finally:
        process.kill()
        process.wait()
        log.close()


def scraped_target(client: httpx.Client) -> dict[str, Any]:
    """The one target, once it has been asked."""

    def asked() -> dict[str, Any]:
        with contextlib.suppress(httpx.HTTPError):  # it has not started yet
            answer = client.get("/targets").raise_for_status()
            for target in answer.json()["data"]["activeTargets"]:
                if target["health"] != "unknown":
                    return dict(target)
        return {}

    return until(asked)


@needs_prometheus
def test_prometheus_scrapes_with_its_key(guarded: Server, tmp_path: Path) -> None:
    with prometheus(tmp_path, f"127.0.0.1:{guarded.port}", "scraping-key") as client:
        target = scraped_target(client)
        assert (target["health"], target["lastError"]) == ("up", "")
        query = {"query": "rerank_model_info"}
        # The two models of this server: what was scraped may be asked for a moment later.
        until(lambda: len(client.get("/query", params=query).json()["data"]["result"]) == 2)
        answer = client.get("/rules").json()
        (group,) = answer["data"]["groups"]
        assert [rule["name"] for rule in group["rules"]] == [rule["alert"] for rule in rules()]


@needs_prometheus
def test_prometheus_without_the_key_is_refused(guarded: Server, tmp_path: Path) -> None:
    with prometheus(tmp_path, f"127.0.0.1:{guarded.port}", "wrong-key") as client:
        target = scraped_target(client)
        assert target["health"] == "down" and "401" in target["lastError"]
