"""Everything that names dialects reads the registry."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from reranker.commands.main import main
from reranker.nbest import FORMATS
from reranker.nbest.dialects.registry import DIALECTS, load
from reranker.service.requests import schemas

DOCS = Path(__file__).parents[4] / "docs" / "formats.md"


def test_all_are_there_and_described() -> None:
    assert list(FORMATS) == list(DIALECTS)
    for name, description in FORMATS.items():
        load(name)  # its file has it
        assert "\n" not in description


@pytest.mark.parametrize("name", DIALECTS)
def test_docs_have_a_row_and_a_section(name: str) -> None:
    lines = DOCS.read_text().splitlines()
    row = f"| [`{name}`](#{name}) |"
    assert sum(line.startswith(row) for line in lines) == 1, f"{DOCS}: no row '{row} ...'"
    assert lines.count(f"## {name}") == 1, f"{DOCS}: no section '## {name}'"


@pytest.mark.parametrize("command", [[], ["convert"], ["validate"]], ids=" ".join)
def test_commands_offer_all(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help" if command else "--help-all"])
    shown = "".join(capsys.readouterr().out.split())
    offered = ",".join(DIALECTS)
    assert shown.count(offered) == (2 if command == ["convert"] else 1)


def test_requests_accept_all() -> None:
    assert get_args(schemas.Format) == ("auto", "ptb", *DIALECTS)
