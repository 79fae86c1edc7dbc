"""Workflows and issue forms of the repository's host, as far as they can be tested here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.known_schemas import checked

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = GITHUB / "ISSUE_TEMPLATE"
SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-issue-forms": [FORMS / "bug.yml", FORMS / "wish.yml"],
    "github-issue-config": [FORMS / "config.yml"],
    "dependabot": [GITHUB / "dependabot.yml"],
}


def run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name(name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_are_what_the_host_expects(schema: str) -> None:
    done = checked(schema, *SCHEMAS[schema])
    assert done.exit_code == 0, done.output


def test_the_linter_has_nothing_to_say(tmp_path: Path) -> None:
    done = run("zizmor", "--offline", "--no-progress", GITHUB)
    assert done.returncode == 0, done.stdout
    careless = tmp_path / "careless.yml"
    careless.write_text(
        "on: pull_request_target\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - run: echo ${{ github.event.pull_request.title }}\n"
    )
    done = run("zizmor", "--offline", "--no-progress", careless)
    assert done.returncode != 0 and "template-injection" in done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda each: each.name)
def test_actions_are_commits_and_steps_are_targets(path: Path) -> None:
    """Actions are named by commits, which never change: whoever can move a tag could change what
    runs."""
    makefiles = (ROOT / name for name in ("Makefile", "packages/targets.mk"))
    rules = "\n".join(each.read_text() for each in makefiles)
    targets = set(re.findall(r"^([\w-]+):", rules, re.MULTILINE))
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {}).get("versions", [""])
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"])
            for line in re.findall(r"^make (.*)", step.get("run", ""), re.MULTILINE):
                for version in matrix:
                    names = line.replace("${VERSIONS}", version).split()
                    assert {name for name in names if "=" not in name} <= targets
