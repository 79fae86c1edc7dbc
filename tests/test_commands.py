"""Each command of ``commands.toml`` prints exactly what stands there."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from reranker.models.products import eight_bits_work
from tests.program import piped
from tests.shell import newcomers_directory

TEXT = Path(__file__).with_name("commands.toml").read_text("utf-8")
# The default models are computed with 8-bit integers where the processor has such products.
PRECISION = "fast" if eight_bits_work() else "exact"
TABLE = tomllib.loads(
    TEXT.replace("{version}", version("parse-reranker")).replace("{precision}", PRECISION)
)["command"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of all commands, in their order: some read what earlier ones wrote."""
    return newcomers_directory(tmp_path_factory.mktemp("newcomer"))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["run"][:40])
def test_a_command_prints_what_the_table_says(
    row: dict[str, Any], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = piped(row["run"], place)
    expected = (row.get("out", ""), row.get("err", ""), row.get("status", 0))
    assert (done.stdout, done.stderr, done.returncode) == expected
