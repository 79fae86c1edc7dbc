"""A file that appears only when it is complete, and is gone on with after a kill."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from reranker.errors import InputError, RerankError
from reranker.files.output import Written, open_output, open_whole, output_path

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
    with pytest.raises(InputError, match=r"out\.part is left of an interrupted run: give --resume"):
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
        pytest.raises(InputError, match=r"lm_weight is 0\.5, in the interrupted run it was 1\.0"),
        open_output(path, True, changed),
    ):
        pass
    parts(path)[1].write_text(json.dumps({"version": 99}) + "\n")
    with pytest.raises(InputError, match="no journal of this version"):
        run(path, resume=True)


def test_an_earlier_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("before\n")
    with pytest.raises(Stopped):
        run(path, stop_after=2)
    assert path.read_text() == "before\n"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "out", Path("/dev/full/out")):
        with pytest.raises(InputError, match="cannot be written"):
            run(path)
        with pytest.raises(RerankError, match="cannot be written"), open_whole(path):
            pass
    with pytest.raises(InputError, match="--resume needs --out"), open_output(None, True, SETTINGS):
        pass


def test_open_whole_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped), open_whole(path) as file:
        file.write("half")
        raise Stopped
    assert list(tmp_path.iterdir()) == []
    with open_whole(path) as file:
        file.write("one\n")
        file.write("two\n")
    assert path.read_text() == "one\ntwo\n"


def test_what_must_not_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("lists")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    for path in (Path(""), Path("/"), Path("."), tmp_path):
        with pytest.raises(InputError, match="it is a directory"):
            output_path(path)
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(InputError, match="no regular file"):
            output_path(path)
    for path in (tmp_path / "file", tmp_path / "link"):
        with pytest.raises(InputError, match="is read as well"):
            output_path(path, ["-", "missing", str(tmp_path / "file")])
        assert output_path(path, ["-", "missing"]) == tmp_path / "file"
    with pytest.raises(InputError, match="cannot be written"):
        run(tmp_path / ("n" * 251))
    assert output_path(None) is None


def test_a_strange_journal_line_ends_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        run(path, stop_after=2)
    with parts(path)[1].open("a") as journal:
        journal.write("5\n")
    assert run(path, resume=True) == 2
    assert path.read_bytes() == WHOLE
