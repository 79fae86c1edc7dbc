"""The manifests for KubeRay: pods that Kubernetes takes, and in step with the command."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from reranker.commands.completion import whole_parser
from reranker.service.settings import Settings

ROOT = Path(__file__).parents[2]
SPECS = {"job": "rayClusterSpec", "service": "rayClusterConfig"}


def _spec(name: str) -> dict[str, Any]:
    manifest = yaml.safe_load((ROOT / "docker/ray" / f"{name}.yaml").read_text())
    spec: dict[str, Any] = manifest["spec"]
    return spec


@pytest.mark.parametrize("name", SPECS)
def test_pods_are_valid(name: str) -> None:
    cluster = _spec(name)[SPECS[name]]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ray"}, **group["template"]}
        kubernetes_validate.validate(pod, "1.37", strict=True)


@pytest.mark.parametrize("name", SPECS)
def test_ray_is_the_version_that_is_installed(name: str) -> None:
    pin = re.search(r"^ray==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pin is not None
    assert _spec(name)[SPECS[name]]["rayVersion"] == pin[1]
    assert f"ray=={pin[1]} " in (ROOT / "docker/requirements/ray.txt").read_text()


def test_the_job_runs_a_command_that_there_is() -> None:
    program, *arguments = shlex.split(_spec("job")["entrypoint"])
    given = whole_parser().parse_args(["--nbest=-", *arguments])
    assert (program, given.actors, given.cores) == ("rerank", (1, 8), 4)


def test_the_service_has_settings_that_there_are() -> None:
    (application,) = yaml.safe_load(_spec("service")["serveConfigV2"])["applications"]
    assert application["args"].keys() <= Settings.model_fields.keys()


def test_the_service_is_an_application_that_ray_takes() -> None:
    schema = pytest.importorskip("ray.serve.schema", reason="needs the extra: '.[ray]'")
    content = yaml.safe_load(_spec("service")["serveConfigV2"])
    (application,) = schema.ServeDeploySchema.model_validate(content).applications
    assert application.import_path == "reranker.plugins.cluster:app"
    assert [each.name for each in application.deployments] == ["Replica"]
