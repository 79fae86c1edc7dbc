"""Each command of ``commands.toml`` prints exactly what stands there."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path

from tests.shell import newcomers_directory, shell

TABLE = Path(__file__).with_name("commands.toml")


def test_commands_print_what_the_table_says(tmp_path: Path) -> None:
    place = newcomers_directory(tmp_path)
    wrong = []
    table = TABLE.read_text("utf-8").replace("{version}", version("parse-reranker"))
    for row in tomllib.loads(table)["command"]:
        done = shell(row["run"], place)
        printed = (done.stdout, done.stderr, done.returncode)
        expected = (row.get("out", ""), row.get("err", ""), row.get("status", 0))
        if printed != expected:
            wrong.append(f"$ {row['run']}\nexpected {expected}\nprinted  {printed}")
    assert not wrong, "\n\n".join(wrong)
