"""``rerank parse --least-sure``: which sentences to check first."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.commands.least_sure import HEADING, LeastSure
from reranker.commands.main import main
from reranker.files.records import Written
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from reranker.pipeline import Reranker
from tests.reranker.span_models import save_spans

Capture = pytest.CaptureFixture[str]
TEXT = "We saw the man.\n\nMan\tsaw us.\n\nThe man saw (us) on Monday.\n\n" + "man " * 60
WRITTEN = Written(0, 1, 0, 0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_spans(tmp_path_factory.mktemp("spans") / "spans.pt", 3)


def test_the_least_sure_come_first(tmp_path: Path, model: str, capsys: Capture) -> None:
    (tmp_path / "t.txt").write_text(TEXT)
    command = ["parse", str(tmp_path / "t.txt"), "--models", model, "--parser-model", model]
    assert main([*command, "--least-sure", "3", "--longest", "20"]) == 1  # one is too long
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading == HEADING and len(rows) == 3
    columns = [row.split("\t") for row in rows]
    assert columns[0][:3] == ["0.0000", f"{tmp_path / 't.txt'}:7", "-"]
    parser = create_parser("chart", ParserSettings(model=model))
    rankings = list(Reranker.load(model).parse(TEXT, parser, longest=20))
    sure = sorted((ranking.confidence or 0.0, place) for place, ranking in enumerate(rankings))
    assert [row[0] for row in columns] == [f"{confidence:.4f}" for confidence, _ in sure[:3]]
    for (_, place, label, probability, words, sentence, doubt), (_, number) in zip(
        columns[1:], sure[1:3], strict=True
    ):
        ranking = rankings[number]
        assert ranking.origin and ranking.certainty
        assert place.endswith(f":{ranking.origin.line}")
        assert ranking.doubt and doubt == ranking.doubt.text and doubt.startswith(words)
        assert sentence == " ".join(ranking.origin.text.split()) and words in sentence
        assert any(
            f"{value:.4f}" == probability and name == label
            for (_, _, name), value in ranking.certainty.probabilities.items()
        )


def test_equal_ones_keep_their_order_and_unknown_ones_come_last() -> None:
    rows = LeastSure(3)
    for row in ("0.5\ta", "-\tb", "0.25\tc", "0.5\td", "0.25\te"):
        rows.write(row, WRITTEN, "")
    assert rows.text() == f"{HEADING}\n0.25\tc\n0.25\te\n0.5\ta\n"
    rows = LeastSure(9)
    for row in ("-\ta", "0.9\tb"):
        rows.write(row, WRITTEN, "")
    assert rows.text() == f"{HEADING}\n0.9\tb\n-\ta\n"


@pytest.mark.parametrize("flag", [["--resume"], ["--output", "json"]])
def test_it_is_an_output_of_its_own(tmp_path: Path, flag: list[str], capsys: Capture) -> None:
    (tmp_path / "t.txt").write_text(TEXT)
    assert main(["parse", str(tmp_path / "t.txt"), "--least-sure", "3", *flag]) == 2
    assert "--least-sure cannot be combined with --output or --resume" in capsys.readouterr().err


def test_other_parsers_cannot_tell(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "t.txt").write_text(TEXT)
    command = ["parse", str(tmp_path / "t.txt"), "--least-sure", "3", "--parser-command", "cat"]
    assert main(command) == 2
    assert "--least-sure needs the parser chart" in capsys.readouterr().err
