"""``rerank parse --least-sure``: which sentences to check first."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from reranker.commands.least_sure import COLUMNS, LeastSure
from reranker.commands.main import main
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from reranker.pipeline import Reranker
from tests.reranker.small_files import break_off_after
from tests.reranker.span_models import save_spans

Capture = pytest.CaptureFixture[str]
TEXT = "We saw the man.\n\nMan\tsaw us.\n\nThe man saw (us) on Monday.\n\n" + "man " * 60


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_spans(tmp_path_factory.mktemp("spans") / "spans.pt", 3)


def test_the_least_sure_come_first(tmp_path: Path, model: str, capsys: Capture) -> None:
    (tmp_path / "t.txt").write_text(TEXT)
    command = ["parse", str(tmp_path / "t.txt"), "--models", model, "--parser-model", model]
    assert main([*command, "--least-sure", "3", "--longest", "20"]) == 1  # one is too long
    heading, *rows = capsys.readouterr().out.splitlines()
    assert tuple(heading.split("\t")) == COLUMNS and len(rows) == 3
    columns = [row.split("\t") for row in rows]
    assert columns[0][:3] == ["0.0000", f"{tmp_path / 't.txt'}:7", "-"]
    parser = create_parser("chart", ParserSettings(model=model))
    rankings = list(Reranker.load(model).parse(TEXT, parser, longest=20))
    sure = sorted((ranking.confidence or 0.0, place) for place, ranking in enumerate(rankings))
    assert [row[0] for row in columns] == [f"{confidence:.4f}" for confidence, _ in sure[:3]]
    for (_, place, label, probability, words, sentence, doubt, _), (_, number) in zip(
        columns[1:], sure[1:3], strict=True
    ):
        ranking = rankings[number]
        assert ranking.origin and ranking.certainty
        assert place.endswith(f":{ranking.origin.line}")
        assert ranking.doubt and doubt == ranking.doubt.text and doubt.startswith(f"“{words}”")
        assert sentence == " ".join(ranking.origin.text.split()) and words in sentence
        assert any(
            f"{value:.4f}" == probability and name == label
            for (_, _, name), value in ranking.certainty.probabilities.items()
        )


def test_a_transcript_has_its_speakers(tmp_path: Path, model: str, capsys: Capture) -> None:
    (tmp_path / "t.txt").write_text("ANNA: We saw the man.\nDr. Meyer: The man saw us.\n")
    command = ["parse", str(tmp_path / "t.txt"), "--models", model, "--parser-model", model]
    for flags, speakers in (["--speakers"], {"ANNA", "Dr. Meyer"}), (["--no-speakers"], {""}):
        assert main([*command, "--least-sure", "3", *flags]) == 0
        rows = csv.DictReader(io.StringIO(capsys.readouterr().out), delimiter="\t")
        assert {row["speaker"] for row in rows} == speakers


def test_equal_ones_keep_their_order_and_unknown_ones_come_last() -> None:
    def table(count: int, *rows: tuple[float | None, str]) -> list[str]:
        form = LeastSure(count)
        for number, (confidence, word) in enumerate(rows, 1):
            assert not form.line([confidence, [word, "x"]], number)
        return [line.partition("\t")[0] for line in form.end().splitlines()[1:]]

    assert table(3, (0.5, "a"), (None, "b"), (0.25, "c"), (0.5, "d"), (0.25, "e")) == list("cea")
    assert table(9, (None, "a"), (0.9, "b")) == ["b", "a"]


def test_a_spreadsheet_has_the_same_cells(tmp_path: Path, model: str, capsys: Capture) -> None:
    (tmp_path / "t.txt").write_text('We saw, "the man".')
    command = ["parse", str(tmp_path / "t.txt"), "--models", model, "--parser-model", model]
    tables = []
    for flags, delimiter in (([], "\t"), (["--csv"], ",")):
        assert main([*command, "--least-sure", "3", *flags]) == 0
        rows = csv.reader(io.StringIO(capsys.readouterr().out), delimiter=delimiter)
        tables.append([*rows])
    with_tabs, with_commas = tables
    assert with_commas == with_tabs and with_commas[1][5] == 'We saw, "the man".'


def test_the_rows_of_an_interrupted_run_are_kept(
    tmp_path: Path, model: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.txt").write_text(TEXT)
    command = ["parse", str(tmp_path / "t.txt"), "--models", model, "--parser-model", model]
    command += ["--least-sure", "2", "--out"]
    assert main([*command, str(tmp_path / "whole")]) == 0
    with monkeypatch.context() as patch:
        break_off_after(2, patch)
        assert main([*command, str(tmp_path / "out")]) == 2
    assert "2 sentences are kept" in capsys.readouterr().err
    assert main([*command, str(tmp_path / "out"), "--resume"]) == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_it_is_an_output_of_its_own(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "t.txt").write_text(TEXT)
    command = ["parse", str(tmp_path / "t.txt"), "--least-sure", "3", "--output", "json"]
    assert main(command) == 2
    assert "--least-sure cannot be combined with --output" in capsys.readouterr().err


def test_other_parsers_cannot_tell(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "t.txt").write_text(TEXT)
    command = ["parse", str(tmp_path / "t.txt"), "--least-sure", "3", "--parser-command", "cat"]
    assert main(command) == 2
    assert "--least-sure needs the parser chart" in capsys.readouterr().err
