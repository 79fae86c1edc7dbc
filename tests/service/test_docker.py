"""The image and the compose file, as far as they can be tried without a container engine."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reranker.service.settings import Settings
from tests.known_schemas import checked
from tests.service.servers import Server, serving

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker" / "docker-compose.yml"
REQUIREMENTS = ROOT / "docker" / "requirements"
BESIDE_PYTHON = Path(sys.executable).parent


def instructions() -> list[str]:
    """Return the instructions of the Dockerfile, each on one line."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(lines).replace("\\\n", "").splitlines()


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]
    return found


def test_the_linter_has_nothing_to_say_of_the_dockerfile(tmp_path: Path) -> None:
    linter = BESIDE_PYTHON / "hadolint"
    done = run(linter, ROOT / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")
    careless = tmp_path / "Dockerfile"
    careless.write_text('FROM python\nRUN cd /tmp && pip install rerank\nCMD rerank "serve"\n')
    done = run(linter, careless)
    assert done.returncode == 1 and "DL3006" in done.stdout


def test_the_image_is_built_of_what_has_a_hash_and_is_nobody() -> None:
    """Every FROM names the base by its digest, every pip installs by hash or from the checkout."""
    lines = instructions()
    (base,) = [line for line in lines if line.startswith("ARG PYTHON=")]
    assert re.fullmatch(r"ARG PYTHON=python:3\.11-slim@sha256:[0-9a-f]{64}", base)
    stages = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert stages == ["${PYTHON}"] * 2
    installs = [part for line in lines for part in line.split("&&") if "pip install" in part]
    assert len(installs) == 3
    assert all("--require-hashes" in one or "--no-index" in one for one in installs)
    (user,) = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert user == "10001:10001"


def test_what_is_copied_into_the_image_is_there_and_not_ignored() -> None:
    kept = (ROOT / ".dockerignore").read_text().splitlines()
    for line in instructions():
        if line.startswith("COPY ") and "--from" not in line:
            for name in line.split()[1:-1]:
                assert (ROOT / name).exists() and f"!{name}" in kept


def pinned(name: str) -> dict[str, str]:
    """Return the versions in a file of requirements, each of which has hashes."""
    text = (REQUIREMENTS / name).read_text().replace("\\\n", "")
    versions: dict[str, str] = {}
    for line in text.splitlines():
        if line and not line.lstrip().startswith("#"):
            requirement, *hashes = line.split()
            package, version = requirement.split("==")
            assert hashes and all(
                re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes
            )
            versions[canonicalize_name(package)] = version
    return versions


def needed(package: str, *extras: str) -> set[str]:
    """Return the names of everything that an installed package needs here, including itself."""
    found: set[tuple[str, ...]] = set()
    todo = [(package, *extras)]
    while todo:
        if (one := todo.pop()) in found:
            continue
        found.add(one)
        package, *asked = one
        for requirement in map(Requirement, requires(package) or ()):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *asked)):
                todo.append((canonicalize_name(requirement.name), *sorted(requirement.extras)))
    return {name for name, *_ in found}


@pytest.mark.parametrize("torch", ["cpu", "cuda"])
def test_requirements_have_hashes_and_are_complete(torch: str) -> None:
    versions = pinned("rerank.txt") | pinned(f"torch-{torch}.txt")
    of_cuda = {name for name in needed("torch") if re.match("nvidia|cuda|triton", name)}
    own = {"parse-reranker", "editables"}  # the latter is how a checkout is installed, with -e
    assert needed("parse-reranker", "traces") - own - of_cuda <= versions.keys()
    constraints = dict(
        line.split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    )
    versions["torch"] = versions["torch"].removesuffix("+cpu")
    for name, version in (*versions.items(), *pinned("ray.txt").items()):
        assert version == constraints.get(name, version), name


def health_check() -> list[str]:
    (line,) = [line for line in instructions() if line.startswith("HEALTHCHECK")]
    command: list[str] = json.loads(line.partition(" CMD ")[2])
    assert command[0] == "python"
    return [sys.executable, *command[1:]]


def test_the_health_check_follows_the_port(server: Server) -> None:
    healthy = run(*health_check(), RERANK_HOST="0.0.0.0", RERANK_PORT=str(server.port))
    assert healthy.returncode == 0, healthy.stderr
    with socket.create_server(("127.0.0.1", 0)) as free:
        closed = str(free.getsockname()[1])
    assert run(*health_check(), RERANK_HOST="0.0.0.0", RERANK_PORT=closed).returncode == 1


def test_the_health_check_goes_through_no_proxy(server: Server) -> None:
    proxy = {"http_proxy": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1"}
    done = run(*health_check(), RERANK_HOST="127.0.0.1", RERANK_PORT=str(server.port), **proxy)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_health_check_waits_for_the_models(models: list[str]) -> None:
    """Checked on an address of IPv6, if there is one."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        host, everywhere = "::1", "::"
    except OSError:
        host, everywhere = "127.0.0.1", "0.0.0.0"
    with serving(models * 5, "--host", host, wait=False) as server:
        given = {"RERANK_HOST": everywhere, "RERANK_PORT": str(server.port)}
        assert run(*health_check(), **given).returncode == 1
        server.logged("ready")
        assert run(*health_check(), **given).returncode == 0


def test_compose_follows_its_specification(tmp_path: Path) -> None:
    done = checked("compose-spec", COMPOSE)
    assert done.exit_code == 0, done.output
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(COMPOSE.read_text().replace("read_only:", "readonly:"))
    done = checked("compose-spec", wrong)
    assert done.exit_code == 1 and "'readonly' was unexpected" in done.output


def test_no_service_of_compose_has_more_than_it_needs() -> None:
    for name, service in services().items():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"]), name
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory", "pids"}
        for volume in service.get("volumes", ()):
            source, _, *mode = volume.split(":")
            assert (COMPOSE.parent / source).is_dir() and mode == ["ro"]


def test_the_service_in_compose() -> None:
    """Its settings are settings, it can be ended in time, and takes no more threads than CPUs."""
    service = services()["rerank"]
    names = {name.removeprefix("RERANK_").lower() for name in service["environment"]}
    assert names <= Settings.model_fields.keys()
    grace = int(service["stop_grace_period"].removesuffix("s"))
    assert grace > Settings.model_fields["drain_seconds"].default + 2
    cpus = service["deploy"]["resources"]["limits"]["cpus"]
    assert service["environment"]["RERANK_THREADS"] == int(cpus)
    assert service["environment"]["RERANK_API_KEYS_FILE"] == f"/run/secrets/{service['secrets'][0]}"
    assert service["read_only"] and service["tmpfs"][0].startswith("/tmp:")
