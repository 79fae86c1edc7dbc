"""The manifests: valid for Kubernetes, and in step with the image and the settings."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from reranker.service.settings import Settings
from tests.service.test_docker import instructions

FOLDER = Path(__file__).parents[2] / "docker" / "kubernetes"
VERSIONS = ["1.34", "1.37"]


def manifests() -> dict[str, Any]:
    """Return the manifests by kind."""
    documents = [
        one
        for path in sorted(FOLDER.glob("*.yaml"))
        for one in yaml.safe_load_all(path.read_text())
    ]
    by_kind = {one["kind"]: one for one in documents}
    assert len(by_kind) == len(documents)
    return by_kind


def pod() -> dict[str, Any]:
    spec: dict[str, Any] = manifests()["Deployment"]["spec"]["template"]["spec"]
    return spec


def environment() -> dict[str, str]:
    (container,) = pod()["containers"]
    return {one["name"]: one.get("value", "") for one in container["env"]}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "kind",
    ["Deployment", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget", "NetworkPolicy"],
)
def test_valid(kind: str, version: str) -> None:
    kubernetes_validate.validate(manifests()[kind], version, strict=True)


@pytest.mark.parametrize(
    "place, name, value",
    [
        (["spec"], "replica", 2),
        (["spec", "template", "spec", "containers", 0, "securityContext"], "readOnlyRoot", True),
        (["spec", "template", "spec"], "terminationGracePeriodSeconds", "45 seconds"),
        (["spec", "template", "spec", "containers", 0, "livenessProbe", "httpGet"], "port", None),
    ],
)
def test_a_wrong_field_is_refused(place: list[str | int], name: str, value: Any) -> None:
    manifest = copy.deepcopy(manifests()["Deployment"])
    inner = manifest
    for step in place:
        inner = inner[step]
    inner[name] = value
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, VERSIONS[-1], strict=True)


def test_everything_means_the_same_pods_and_port() -> None:
    found = manifests()
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert target["name"] == found["Deployment"]["metadata"]["name"]
    (container,) = pod()["containers"]
    (port,) = container["ports"]
    assert port == {"name": "http", "containerPort": int(environment()["RERANK_PORT"])}
    probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")]
    assert {probe["port"] for probe in probes} == {"http"}
    assert [probe["path"] for probe in probes] == ["/health/ready"] * 2 + ["/health/live"]
    (rule,) = found["NetworkPolicy"]["spec"]["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": "http"}]


def test_settings_are_settings_and_the_pod_ends_in_time() -> None:
    given = environment()
    names = {name.removeprefix("RERANK_").lower() for name in given}
    assert names <= Settings.model_fields.keys()
    (container,) = pod()["containers"]
    _, pause = container["lifecycle"]["preStop"]["exec"]["command"]
    seconds = int(pause) + int(given["RERANK_DRAIN_SECONDS"]) + 2
    assert pod()["terminationGracePeriodSeconds"] > seconds
    assert not pod()["enableServiceLinks"]  # RERANK_PORT=tcp://... otherwise


def test_as_little_as_the_image_needs() -> None:
    (container,) = pod()["containers"]
    user = pod()["securityContext"]
    (line,) = [line for line in instructions() if line.startswith("USER ")]
    assert line == f"USER {user['runAsUser']}:{user['runAsGroup']}"
    assert user["runAsNonRoot"] and user["seccompProfile"]["type"] == "RuntimeDefault"
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert mounts["tmp"] == "/tmp"
    assert environment()["RERANK_API_KEYS_FILE"].startswith(mounts["keys"])
    assert {one["name"] for one in pod()["volumes"]} == mounts.keys()
    limits = container["resources"]["limits"]
    assert limits.keys() == {"cpu", "memory", "ephemeral-storage"}
