"""README's examples, run in order; its citations; and the links of all pages."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shell import ROOT, newcomers_directory, shell

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    ROOT / "ckpt" / "README.md",
    ROOT / "examples" / "README.md",
]

# Left out: installing, and what other tests do (tests/service starts the server for curl,
# tests/reranker/commands/test_adapt.py has a parser).
NOT_RUN = ("python3 -m venv", "make ", "curl ", "rerank adapt ", "rerank parse text.txt ")
# Training for an hour on a treebank, in a second.
SHORTER = {"--budget 60": "--epochs 1", "small.toml": "tiny.toml"}


def examples() -> Iterator[tuple[str, str | None]]:
    """Shell commands in README's order, with their standard output where README prints it."""
    for (language, block), (next_language, after) in zip(
        BLOCKS, [*BLOCKS[1:], ("", "")], strict=True
    ):
        if language == "console":
            for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = example.partition("\n")
                yield command, output
        elif language == "sh" and not block.startswith(NOT_RUN):
            yield block, None
        elif language == "python":
            yield f"python - <<'END'\n{block}END", after if next_language == "text" else None


def test_examples_run_in_order_and_print_what_the_page_says(tmp_path: Path) -> None:
    place = newcomers_directory(tmp_path)
    gold = (ROOT / "examples" / "gold.mrg").read_bytes()
    for name in ("train.mrg.gz", "dev.mrg.gz"):
        (place / name).write_bytes(gold)
    count = 0
    for command, output in examples():
        for long, short in SHORTER.items():
            command = command.replace(long, short)
        done = shell(command, place)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if output is not None:
            assert done.stdout == output, command
        count += 1
    assert count == 14
    best = (place / "best.txt").read_text(encoding="utf-8").splitlines()
    assert len(best) == len(gold.splitlines())


def test_the_citation_is_of_this_version_and_the_papers_are_cited_twice() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = re.search(r"^## (\d+\.\d+\.\d+) ", changes, re.MULTILINE)
    assert newest and f"\nversion: {newest[1]}\n" in citation
    assert f"\nlicense: {project['license']}\n" in citation
    assert f"version = {{{newest[1]}}}" in README
    dois = re.findall(r"doi += \{(.*)\}", README)
    assert len(dois) == 2 and dois == re.findall(r"doi: (.*)", citation)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), target
        if heading:
            assert heading in anchors(linked), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_checkpoints_that_are_named_are_there(page: Path) -> None:
    text = page.read_text("utf-8")
    written = set(re.findall(r"--(?:out|save) (ckpt/\S+)", text))
    named = set(re.findall(r"\bckpt/[\w*/.-]*\w", text)) - written
    assert [name for name in named if not any(ROOT.glob(name))] == []


def anchors(page: Path) -> set[str]:
    """The page's headings as GitHub names them in links."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}
