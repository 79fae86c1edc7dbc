"""The pages: their outputs are those of today, their links lead somewhere."""

from __future__ import annotations

import re
import shlex
import site
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import nbformat
import pytest

import reranker
from reranker.commands.main import command_names, command_parser
from tests.checkout import ROOT
from tests.pages import (
    Run,
    examples,
    notebooks,
    pages,
    pictures,
    renewed,
    renewed_notebook,
    with_models,
)
from tests.program import piped
from tests.shell import shell

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    ROOT / "ckpt" / "README.md",
    ROOT / "examples" / "README.md",
]

DOCS = ROOT / "docs"

_COMMAND = re.compile(r"(?:^(?:\$| +)?|[|;(]|\bdo) *rerank ((?:'[^']*'|[^|;&<>#()`])*)")


def check_examples(page: Path, directory: Path, run: Run = shell) -> None:
    """Assert that the examples print what the page says."""
    assert renewed(page, directory, run) == page.read_text("utf-8")
    for picture, content in pictures(directory).items():
        assert picture.read_bytes() == content, picture


def test_examples_of_the_first_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process; with bash, as a newcomer runs them: below."""
    monkeypatch.setenv("COLUMNS", "80")
    check_examples(ROOT / "README.md", tmp_path, piped)


# They run whenever the site is built, too (.github/workflows/docs.yml).
@pytest.mark.slow
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    """Otherwise: make outputs."""
    check_examples(page, tmp_path)


@pytest.mark.slow  # starts a kernel for each
@pytest.mark.parametrize("notebook", notebooks(), ids=lambda notebook: notebook.name)
def test_notebooks_show_what_their_cells_print(notebook: Path, tmp_path: Path) -> None:
    """Otherwise: make outputs."""
    assert renewed_notebook(notebook, tmp_path) == notebook.read_text("utf-8")


@pytest.mark.parametrize("notebook", notebooks(), ids=lambda notebook: notebook.name)
def test_notebooks_were_run_from_top_to_bottom(notebook: Path) -> None:
    content = nbformat.read(notebook, as_version=4)
    nbformat.validate(content)
    cells = [cell for cell in content.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert all(output.output_type != "error" for cell in cells for output in cell.outputs)


@pytest.mark.slow  # checks the whole package
def test_examples_are_typed(tmp_path: Path) -> None:
    """A user's ``mypy --strict`` finds nothing in what the pages and notebooks show."""
    codes: dict[str, str] = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text("utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        codes |= {f"{page.stem}_{number}": block for number, block in enumerate(blocks)}
    for notebook in notebooks():
        cells = nbformat.read(notebook, as_version=4).cells
        codes[notebook.stem] = "\n".join(
            re.sub(r"^await (.*)$", r"asyncio.run(\1)", cell.source, flags=re.MULTILINE)
            for cell in cells if cell.cell_type == "code"
        )  # fmt: skip
    for name, code in codes.items():
        (tmp_path / f"{name.replace('-', '_')}.py").write_text(code)
    # mypy sees packages in an environment's folders, but not this environment's link to a checkout.
    user = tmp_path / "user"
    venv.create(user, symlinks=True)
    (packages,) = (user / "lib").glob("python*/site-packages")
    (packages / "reranker").symlink_to(ROOT / "reranker")
    (packages / "others.pth").write_text("\n".join(site.getsitepackages()))
    assert len(codes) >= 15
    files = sorted(map(str, tmp_path.glob("*.py")))
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental"]
    command += ["--python-executable", str(user / "bin" / "python"), *files]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pages_with_examples_are_found() -> None:
    counts = {page.name: sum(1 for _ in examples(page)) for page in pages()}
    assert counts["README.md"] >= 7
    assert counts["grep.md"] == 6 and counts["complexity.md"] == 3 and counts["surprisal.md"] == 1


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", DOCS / "models.md"], ids=lambda page: page.name
)
def test_the_table_of_models_is_that_of_their_files(page: Path) -> None:
    """Otherwise: make outputs."""
    text = page.read_text("utf-8")
    assert with_models(text) == text and "\n| `best`, the default for lists |" in text


def test_a_fresh_clone_needs_two_commands_and_ci_runs_the_second() -> None:
    found = re.search(r"^```sh\n(make demo)\b.*\n(make test)\b.*\n```$", README, re.MULTILINE)
    assert found and README.index(found[0]) < README.index("## Text in, tree out")
    assert (ROOT / ".ci" / "run").read_text("utf-8").endswith(f" {found[2]}\n")
    for command in found.groups():
        subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


def test_every_command_has_a_page_and_a_row() -> None:
    folder = DOCS / "commands"
    index = (folder / "index.md").read_text("utf-8")
    assert {page.stem for page in folder.glob("*.md")} - {"index"} == set(command_names())
    for name in command_names():
        page = (folder / f"{name}.md").read_text("utf-8")
        assert f"```{{command}} {name}\n" in page and f"]({name}.md) |" in index


def test_the_reference_has_every_public_name() -> None:
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    named = set(re.findall(r"auto\w+:: reranker\.(\w+)$", page, re.MULTILINE))
    assert set(reranker.__all__) - named == {"__version__", "client", "trees"}  # two are modules


@pytest.mark.slow  # half a minute
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """Links within it, headings that they name and docstrings included; nothing is fetched."""
    build = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", "-b", "html", "docs"]
    done = subprocess.run([*build, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for name in command_names():
        command = (tmp_path / "commands" / f"{name}.html").read_text("utf-8")
        assert f"usage: {'rerank' if name == 'rerank' else f'rerank {name}'} " in command
    # Prompts are dollar signs; half a tree after one is none.
    tutorial = (tmp_path / "tutorial" / "first-tree.html").read_text("utf-8")
    assert set(re.findall(r'class="gp[^>]*>([^<]*)<', tutorial)) == {"$ "}
    http = (tmp_path / "http.html").read_text("utf-8")
    assert "POST /rerank" in http and "GET /metrics" in http and "CandidateList" in http
    linked = re.findall(r'(?:src|href)="(https?://[^"]*\.(?:js|css|woff2?))', tutorial)
    assert linked == []  # nothing from elsewhere is needed to read it


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


def test_links_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            name, _, heading = target.partition("#")
            linked = page.parent / name if name else page
            if "://" not in target and not (
                linked.exists() and (not heading or heading in anchors(linked))
            ):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert not broken


def test_checkpoints_that_are_named_are_there() -> None:
    missing = []
    for page in PAGES:
        text = page.read_text("utf-8")
        written = set(re.findall(r"--(?:out|save) (ckpt/\S+)", text))
        named = set(re.findall(r"\bckpt/[\w*/.-]*\w", text)) - written
        missing += [f"{page.name}: {name}" for name in named if not any(ROOT.glob(name))]
    assert not missing


def test_commands_have_the_flags_that_they_need() -> None:
    """Also those that no test runs, in blocks of commands and in indented lines."""
    wrong = []
    for page in PAGES:
        text = page.read_text("utf-8").replace("\\\n", " ")
        blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        blocks += re.findall(r"^    .*$", text, re.MULTILINE)
        lines = "\n".join(blocks).splitlines()
        for command in (found for line in lines for found in _COMMAND.findall(line)):
            if not command.strip() or "..." in command or "$" in command:
                continue
            name, *flags = shlex.split(command)
            if name not in command_names():
                name, flags = "rerank", [name, *flags]
            try:
                command_parser(name).parse_args(flags)
            except SystemExit:
                wrong.append(f"{page.relative_to(ROOT)}: rerank {command}")
    assert not wrong


def anchors(page: Path) -> set[str]:
    """Return the page's headings as GitHub names them in links."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}
