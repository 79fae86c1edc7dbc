"""The help of commands, and the line about a wrong flag."""

from __future__ import annotations

import argparse

import pytest

from reranker import registry
from reranker.commands.main import command_names, command_parser, main

Capture = pytest.CaptureFixture[str]


def printed(arguments: list[str], capsys: Capture, status: int) -> str:
    """Return what a command that stops at its flags prints, to the one stream or the other."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == status
    out, err = capsys.readouterr()
    assert not (err if status == 0 else out)
    return out + err


GROUPED = [name for name in command_names() if command_parser(name).groups]


def flags_of(command: str) -> set[str]:
    """Return the long names of a command's flags but --help."""
    return {
        next(name for name in action.option_strings if name.startswith("--"))
        for action in command_parser(command)._actions
        if action.option_strings and action.help != argparse.SUPPRESS
    } - {"--help"}


@pytest.mark.plugins
def test_the_commands_with_many_flags_have_groups() -> None:
    many = {name for name in command_names() if len(flags_of(name)) >= 14}
    assert many == set(GROUPED) and len(many) >= 11


@pytest.mark.parametrize("command", GROUPED)
def test_help_shows_few_flags_and_help_all_each_flag_once(
    command: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = [] if command == "rerank" else [command]
    short = printed([*words, "--help"], capsys, 0)
    whole = printed([*words, "--help-all"], capsys, 0)
    flags = flags_of(command)
    shown = [line.split()[0].rstrip(",") for line in short.splitlines() if line.startswith("  --")]
    assert 6 <= len(shown) <= 8 and set(shown) <= flags
    most = 40 + len(command_names()) if command == "rerank" else 60  # a line for each command
    assert len(short.splitlines()) <= most and "\\\n\n" not in short  # whole commands
    for flag in flags:
        starts = [line for line in whole.splitlines() if line.startswith(f"  {flag}")]
        assert [line.split()[0].rstrip(",") for line in starts].count(flag) == 1, flag
    assert {f"{title}:" for title in command_parser(command).groups} <= set(whole.splitlines())
    assert f"{len(flags) + 1 - len(shown)} more flags" in short


def test_the_help_of_parse_fits_a_terminal(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed(["parse", "--help"], capsys, 0).splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    assert "  rerank parse notes.txt --output brackets --csv > brackets.csv" in lines


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            "parse --ouptut json f",
            "rerank parse: error: there is no flag --ouptut; did you mean --output?",
        ),
        (
            "parse --ouptut=json f",
            "rerank parse: error: there is no flag --ouptut; did you mean --output?",
        ),
        ("--nbets f", "rerank: error: there is no flag --nbets; did you mean --nbest?"),
        ("parse f -o g", "rerank parse: error: there is no flag -o; did you mean --out?"),
        ("parse f --OUT g", "rerank parse: error: there is no flag --OUT; did you mean --out?"),
        ("serve --prot 80", "rerank serve: error: there is no flag --prot; did you mean --port?"),
        (
            "serve --overprasing 3",  # not one that help hides
            "rerank serve: error: there is no flag --overprasing; see rerank serve --help-all",
        ),
        ("eval --zz a b", "rerank eval: error: there is no flag --zz; see rerank eval --help-all"),
        (
            "parse -x.txt",
            "rerank parse: error: there is no flag -x.txt; see rerank parse --help-all; "
            "what follows -- is never a flag",
        ),
        pytest.param(
            "analyse attention --jsno",
            "rerank analyse attention: error: there is no flag --jsno; did you mean --json?",
            marks=pytest.mark.plugins,
        ),
        (
            "parse f --output rankd",
            "rerank parse: error: argument --output: invalid choice: 'rankd'; did you mean ranked? "
            f"(there are {', '.join(registry.CORE['outputs'])})",
        ),
        (
            "parse",
            "rerank parse: error: the following arguments are required: FILE; "
            "see rerank parse --help",
        ),
        (
            "parse --models large -",
            "rerank parse: error: the following arguments are required: FILE; "
            "it stands before --models",
        ),
        (
            "--models large",
            "rerank: error: the following arguments are required: --nbest; see rerank --help",
        ),
        (
            "parse f --threads -1",  # a value
            "rerank parse: error: argument --threads: '-1' is not a whole number of at least 1",
        ),
        (
            "convert f --to opennmt --to-beam 100001",
            "rerank convert: error: argument --to-beam: '100001' is not a whole number from 1 to "
            "100,000",
        ),
        (
            "parse f --candidates 10001",
            "rerank parse: error: argument --candidates: '10001' is not a whole number from 1 to "
            "10,000",
        ),
    ],
)
def test_a_wrong_flag_is_one_line_with_the_right_one(
    arguments: str, line: str, capsys: Capture
) -> None:
    assert printed(arguments.split(), capsys, 2) == f"{line}\n"
