"""What watches the service asks for what it has."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx

DOCKER = Path(__file__).parents[2] / "docker"


def test_dashboard_shows_metrics_that_exist(http: httpx.Client) -> None:
    dashboard = json.loads((DOCKER / "grafana" / "dashboard.json").read_text())
    queries = [one["expr"] for panel in dashboard["panels"] for one in panel["targets"]]
    asked = set(re.findall(r"(?:rerank|process)_\w+", " ".join(queries)))
    exported = set(re.findall(r"^# TYPE (\w+)", http.get("/metrics").text, re.MULTILINE))
    exported |= {f"{name}_{part}" for name in exported for part in ("bucket", "sum", "count")}
    assert asked <= exported
    assert len(dashboard["panels"]) == len({str(one["gridPos"]) for one in dashboard["panels"]})


def test_the_service_can_be_ended_in_time() -> None:
    from reranker.service.settings import Settings

    compose = (DOCKER / "docker-compose.yml").read_text()
    (grace,) = re.findall(r"stop_grace_period: (\d+)s", compose)
    assert int(grace) > Settings.model_fields["drain_seconds"].default
