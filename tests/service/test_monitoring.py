"""The metrics that the monitoring queries exist. With a key: tests/service/test_keys.py."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

DOCKER = Path(__file__).parents[2] / "docker"
PROMETHEUS = DOCKER / "prometheus"
ALERTS = PROMETHEUS / "alerts.yml"

needs_promtool = pytest.mark.skipif(
    not shutil.which("promtool"), reason="this machine has no promtool"
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
    """Return the label pairs and names of labels of everything that is exported."""
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
