"""All places in the code that write files are known."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.reranker.files.writers import found, writers

ROOT = Path(__file__).parents[3]


@pytest.mark.plugins
def test_every_place_that_writes_is_in_the_list_with_its_reason() -> None:
    known = tomllib.loads(Path(__file__).with_name("writers.toml").read_text("utf-8"))
    places = found(ROOT, ["reranker", "service", "eval"])
    assert {name: sorted(places[name]) for name in sorted(places)} == {
        name: sorted(known[name]) for name in sorted(known)
    }


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ('open(name, "w")', "open"),
        ('open(name, mode="ab")', "open"),
        ("open(name, mode)", "open"),
        ('io.open(name, "x")', "io.open"),
        ('path.open("r+b")', "path.open"),
        ('gzip.open(name, "wt")', "gzip.open"),
        ('zipfile.ZipFile(name, "w")', "zipfile.ZipFile"),
        ("os.open(name, flags)", "os.open"),
        ("path.write_text(text)", "write_text"),
        ("map(Path.unlink, paths)", "unlink"),
        ("path.replace(other)", "replace"),
        ("os.replace(one, other)", "replace"),
        ("rmtree(folder)", "rmtree"),
        ("shutil.move(one, other)", "move"),
        ("tempfile.mkdtemp()", "mkdtemp"),
        ("torch.save(content, path)", "save"),
        ("json.dump(content, file)", "dump"),
        ("whole_file(path)", "whole_file"),
        ("open_whole(path)", "open_whole"),
        ("save_figure(figure, path)", "save_figure"),
    ],
)
def test_what_writes(code: str, what: str) -> None:
    assert writers(f"class A:\n    def f(self):\n        {code}") == {f"A.f {what}"}


@pytest.mark.parametrize(
    "code",
    [
        "open(name)",
        'open(name, "rb")',
        'path.open("rb")',
        "skeleton.open(token[1:])",
        'text.replace("a", "b")',
        "replace(data, name=1)",
        "names.remove(name)",
        "open_whole(None)",
        "open_whole(path, never)",
        "whole_file(path, is_own=never)",
        "save_figure(figure, path, never)",
        "shutil.which(name)",
        "np.load(path)",
    ],
)
def test_what_does_not_write(code: str) -> None:
    assert writers(code) == set()
