"""A file that appears only when it is complete, and is resumed after a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.files.journal import Written, open_output

SETTINGS = {"lm_weight": 1.0, "models": ["a", "b"]}
ANSWERS = [
    ("(S (NN caf\N{LATIN SMALL LETTER E WITH ACUTE}))", Written(1, 2, 0, 0)),
    ("(TOP )", Written(None, 0, 3, 0)),
    ("(S (NN end))", Written(0, 50, 1, 4)),
]
WHOLE = "".join(line + "\n" for line, _ in ANSWERS).encode()


class Stopped(Exception):
    """Stands for whatever ends a run."""


def run(path: Path, resume: bool = False, stop_after: int = 99) -> int:
    """Write what is not there yet; the number of sentences that was."""
    with open_output(path, resume, SETTINGS) as output:
        there = list(output.resumed())
        assert there == [written for _, written in ANSWERS[: len(there)]]
        for count, (line, written) in enumerate(ANSWERS[len(there) :], len(there)):
            if count == stop_after:
                raise Stopped
            output.write(line, written)
    return len(there)


def parts(path: Path) -> tuple[Path, Path]:
    return path.with_name(path.name + ".part"), path.with_name(path.name + ".journal")


def test_a_whole_run_leaves_the_file_alone(tmp_path: Path) -> None:
    assert run(tmp_path / "out") == 0
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]
    assert (tmp_path / "out").read_bytes() == WHOLE


def test_resume_after_a_kill_at_any_byte(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with open_output(tmp_path / "other", False, SETTINGS) as output:
        for line, written in ANSWERS:
            output.write(line, written)
        answers, journal = (part.read_bytes() for part in parts(tmp_path / "other"))
    # What a kill can leave: an answer may be there without its record, never the other way round.
    # A power cut can: any lengths of both.
    for answers_length in range(len(answers) + 1):
        for journal_length in range(0, len(journal) + 1, 3):
            path.unlink(missing_ok=True)
            part_path, journal_path = parts(path)
            part_path.write_bytes(answers[:answers_length])
            journal_path.write_bytes(journal[:journal_length])
            there = run(path, resume=True)
            assert path.read_bytes() == WHOLE
            assert there <= answers[:answers_length].count(b"\n")
            assert there <= max(0, journal[:journal_length].count(b"\n") - 1)
            assert not part_path.exists()
            assert not journal_path.exists()


def test_nothing_done_is_done_again(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        run(path, stop_after=2)
    assert not path.exists()
    assert run(path, resume=True) == 2
    assert path.read_bytes() == WHOLE


def test_parts_of_an_interrupted_run_are_not_thrown_away(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        run(path, stop_after=1)
    with pytest.raises(InputError, match=r"out\.part holds .*: resume it with --resume, or"):
        run(path)
    assert parts(path)[0].read_bytes() == WHOLE.splitlines(keepends=True)[0]


def test_a_run_that_wrote_nothing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        run(tmp_path / "out", stop_after=0)
    assert list(tmp_path.iterdir()) == []


def test_other_settings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        run(path, stop_after=1)
    changed = {**SETTINGS, "lm_weight": 0.5}
    with (
        pytest.raises(InputError, match=r"lm_weight is 0\.5, but was 1\.0 in the interrupted"),
        open_output(path, True, changed),
    ):
        pass
    parts(path)[1].write_text(json.dumps({"version": 99}) + "\n")
    with pytest.raises(InputError, match="not a journal of this version"):
        run(path, resume=True)


def test_an_earlier_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("before\n")
    with pytest.raises(Stopped):
        run(path, stop_after=2)
    assert path.read_text() == "before\n"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "out", Path("/dev/full/out"), tmp_path / ("n" * 251)):
        with pytest.raises(InputError, match="cannot be written"):
            run(path)
    with pytest.raises(InputError, match="cannot be resumed"), open_output(None, True, SETTINGS):
        pass


def test_a_strange_journal_line_ends_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        run(path, stop_after=2)
    with parts(path)[1].open("a") as journal:
        journal.write("5\n")
    assert run(path, resume=True) == 2
    assert path.read_bytes() == WHOLE
