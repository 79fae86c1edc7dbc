"""The garden path of docs/surprisal.md, as printed."""

from __future__ import annotations

import re
from pathlib import Path

from tests.shell import ROOT, newcomers_directory, shell

PAGE = (ROOT / "docs" / "surprisal.md").read_text(encoding="utf-8")


def test_the_garden_path_is_as_printed(tmp_path: Path) -> None:
    block = r"^```python\n(.*?)^```\n+^```text\n(.*?)^```$"
    ((code, output),) = re.findall(block, PAGE, re.MULTILINE | re.DOTALL)
    done = shell(f"python - <<'END'\n{code}END", newcomers_directory(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == output


def test_commands_are_those_of_the_page(tmp_path: Path) -> None:
    (block, *_) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    place = newcomers_directory(tmp_path)
    (place / "stories.txt").write_text("It rains. She left.\n")
    (place / "items.txt").write_text("It rains.\n")
    for command in block.splitlines():
        done = shell(command.replace("200", "5"), place)
        assert done.returncode == 0, done.stderr
    assert (place / "stories.tsv").read_text().count("\n") == 6
    assert (place / "items.png").stat().st_size > 1000
