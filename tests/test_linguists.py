"""The examples of docs/search.md and docs/complexity.md, printed as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.shell import ROOT, newcomers_directory, shell


def examples(page: str) -> list[tuple[str, str]]:
    """Commands, and what they print to both outputs; not those on treebanks that we do not ship."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    found = re.findall(r"^```console\n\$ (.*)\n((?s:.*?))^```$", text, re.MULTILINE)
    found = [(command, out) for command, out in found if command.startswith("rerank ")]
    for code, out in re.findall(
        r"^```python\n((?s:.*?))^```\n\n```text\n((?s:.*?))^```$", text, re.MULTILINE
    ):
        found.append((f"python - <<'END'\n{code}END", out))
    return found


@pytest.mark.parametrize(("page", "count"), [("search.md", 5), ("complexity.md", 3)])
def test_examples_print_what_the_page_says(page: str, count: int, tmp_path: Path) -> None:
    place = newcomers_directory(tmp_path)
    pairs = examples(page)
    assert len(pairs) == count
    for command, printed in pairs:
        done = shell(command, place)
        assert (done.stdout or done.stderr) == printed, command
