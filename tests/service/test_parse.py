"""``POST /parse``: text in; out come the figures of ``rerank parse``, to the last digit."""

from __future__ import annotations

import contextlib
import json
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from reranker.client import Client, ServiceError
from reranker.commands.main import main
from reranker.parsers.command import CommandParser
from reranker.parsers.parser import ParserSettings
from reranker.pipeline import Reranker
from reranker.service import schemas
from reranker.service.streams import LINES
from reranker.trees.tree import Tree
from tests.reranker.small_files import write
from tests.service.servers import SOON, Server, serving
from tests.service.test_limits import error_of
from tests.service.test_rerank import comparable, metric

TOY = Path(__file__).parents[1] / "reranker" / "parsers" / "toy_parser.py"
PARSER = shlex.join([sys.executable, str(TOY)])
TEXT = """We saw it. The man (with eyes) isn't
well-known!

We crash here. We saw the man."""
HANGING = {"text": "We hang here."}
ASK = {"Accept": LINES}


@pytest.fixture(scope="module")
def parsing(models: list[str]) -> Iterator[Server]:
    limits = ("--max-characters", "5000", "--max-sentences", "40", "--longest", "20")
    with serving(models, "--parser-command", PARSER, "--parser-jobs", "2", *limits) as server:
        yield server


@pytest.fixture(scope="module")
def http(parsing: Server) -> Iterator[httpx.Client]:
    with parsing.client() as client:
        yield client


@pytest.fixture(scope="module")
def command(models: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What ``rerank parse --output ranked`` writes."""
    folder = tmp_path_factory.mktemp("parsed")
    file, out = write(folder / "t.txt", TEXT), folder / "out"
    flags = ["--models", *models, "--parser-command", PARSER, "--output", "ranked"]
    assert main(["parse", file, *flags, "--lm-weight", "0.5", "--token-scores", "--out", str(out)]) == 1
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_the_answer_is_the_commands(http: httpx.Client, command: list[dict[str, Any]]) -> None:
    body = {"text": TEXT, "lm_weight": 0.5, "return_token_scores": True}
    answer = http.post("/parse", json=body)
    assert answer.status_code == 200, answer.text
    schemas.ParseAnswer.model_validate(answer.json())
    found = answer.json()["sentences"]
    assert [comparable(one) for one in found] == [comparable(row) for row in command]
    for one, row in zip(found, command, strict=True):
        del row["origin"]["file"]
        assert one["origin"] == row["origin"]
    assert found[2]["status"] == "failed"
    assert found[2]["fallback"] == "(TOP (S (XX We) (XX crash) (XX here) (XX .)))"
    # Not what the program has said, which may name files.
    (rejected,) = found[2]["rejected"]
    assert rejected["message"] == "the parser ended with status 1"
    usage = answer.json()["usage"]
    assert (usage["sentences"], usage["candidates"], usage["rejected"]) == (4, 6, 1)
