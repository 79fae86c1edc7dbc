"""The curl lines of docs/service.md work as they are printed, and its Python too."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from reranker.service.settings import Settings, load_settings
from tests.service.servers import Server

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
LIMITS = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
FIRST_PAGES = ("README.md", "docs/tutorial/serve.md")
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)


def at(server: Server, text: str) -> str:
    """Return the text for a server on another port than 8000."""
    return text.replace("http://localhost:8000", server.url)


def test_curl_lines(server: Server) -> None:
    commands = [
        command
        for language, block in BLOCKS
        if language == "sh" and "curl" in block
        for command in re.split(r"^(?=curl)", block, flags=re.MULTILINE)
        if command
    ]
    assert len(commands) == 10
    answers = []
    for command in commands:
        done = subprocess.run(
            ["bash", "-euc", at(server, command)], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout)
    lines = [json.loads(line) for line in answers.pop().splitlines()]
    assert [*lines[0], *lines[1], *lines[-1]] == ["start", "sentence", "end"]
    one, whole, documents, score = map(json.loads, answers[:4])
    assert [entry["status"] for entry in one["sentences"]] == ["ok"]
    different = [
        [row for row in entry["ranking"] if row["duplicate_of"] is None]
        for entry in whole["sentences"]
    ]
    assert [len(rows) for rows in different] == [1] * 26
    assert len(documents["results"]) == 1
    assert score["results"][0]["error"] is None
    assert json.loads(answers[4])["sentences"] == 26
    assert json.loads(answers[7]) == {"status": "ready"}


def test_the_first_curl_lines(server: Server) -> None:
    """They rank a text and a list, with the built-in parser; two pages have them."""
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in FIRST_PAGES]
    commands, others = (re.findall(r"^curl .*$", page, re.MULTILINE) for page in pages)
    assert commands == others
    counts = []
    for command in commands:
        done = subprocess.run(
            ["bash", "-euc", at(server, command)], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        counts.append(len(json.loads(done.stdout)["sentences"]))
    assert counts == [1, 26]


def test_the_first_programs(server: Server) -> None:
    page = (ROOT / "docs" / "tutorial" / "serve.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        command = [sys.executable, "-c", at(server, block)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert len(done.stdout.splitlines()) == 2 and "(PRP He)" in done.stdout, done.stderr


def test_python(server: Server) -> None:
    (block,) = [block for language, block in BLOCKS if language == "python"]
    command = [sys.executable, "-c", at(server, block)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.startswith("(S1 (S (NP (PRP It))"), done.stderr


def test_settings_that_are_named_exist() -> None:
    table = "\n".join(line for line in LIMITS.splitlines() if line.startswith("|"))
    named = set(re.findall(r"`(?!rerank_)([a-z]+_[a-z_]+)`", table))  # metrics are no settings
    assert named <= {*Settings.model_fields, *load_settings({}).limits} and len(named) > 10
