"""A file that appears only when it is complete, and is resumed after a kill."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from reranker.errors import InputError, RerankError
from reranker.files.journal import journaled_path, open_output
from reranker.files.records import AnswerCounts
from tests.reranker.files.disk_order import disk_order

SETTINGS = {"lm_weight": 1.0, "models": ["a", "b"]}
ANSWERS = [
    ("(S (NN caf\N{LATIN SMALL LETTER E WITH ACUTE}))", AnswerCounts(1, 2, 0, 0)),
    ("(TOP )", AnswerCounts(None, 0, 3, 0)),
    ("(S (NN end))", AnswerCounts(0, 50, 1, 4)),
]
WHOLE = "".join(line + "\n" for line, _ in ANSWERS).encode()


class Stopped(Exception):
    """A stand-in for any end of a run."""


def run(path: Path, resume: bool = False, stop_after: int = 99, inputs: str = "abc") -> int:
    """Write what is not there yet, each answer to one of ``inputs``; the number that was there."""
    with open_output(path, resume, SETTINGS) as output:
        there = list(output.resumed(inputs))
        assert there == [written for _, written in ANSWERS[: len(there)]]
        for count, (line, written) in enumerate(ANSWERS[len(there) :], len(there)):
            if count == stop_after:
                raise Stopped
            output.write(line, written, inputs[count])
    return len(there)


def parts(path: Path) -> tuple[Path, Path]:
    return path.with_name(path.name + ".part"), path.with_name(path.name + ".journal")


def test_a_whole_run_leaves_the_file_alone(tmp_path: Path) -> None:
    assert run(tmp_path / "out") == 0
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]
    assert (tmp_path / "out").read_bytes() == WHOLE


def interrupted(path: Path, after: int) -> None:
    with pytest.raises(Stopped):
        run(path, stop_after=after)


def test_resume_after_a_kill_at_any_byte(tmp_path: Path) -> None:
    path = tmp_path / "out"
    part_path, journal_path = parts(path)
    with open_output(path, False, SETTINGS) as output:
        for (line, written), digest in zip(ANSWERS, "abc", strict=True):
            output.write(line, written, digest)
        answers, journal = part_path.read_bytes(), journal_path.read_bytes()
    first = answers.index(b"\n") + 1, len(b"".join(journal.splitlines(keepends=True)[:2]))
    # The files after a kill: an answer may be there without its record, never the other way round,
    # but for the first, which both have from the start. A power cut can: any lengths of both.
    for answers_length in range(first[0], len(answers) + 1):
        for journal_length in range(first[1], len(journal) + 1, 29):
            for zeros in (0, 3):  # a file may have its length, but not yet all of its content
                path.unlink(missing_ok=True)
                part_path.write_bytes(answers[:answers_length] + bytes(zeros))
                journal_path.write_bytes(journal[:journal_length] + bytes(zeros))
                there = run(path, resume=True)
                assert path.read_bytes() == WHOLE
                assert there <= answers[:answers_length].count(b"\n")
                assert there <= max(0, journal[:journal_length].count(b"\n") - 1)
                assert [*tmp_path.iterdir()] == [path]


def test_a_file_made_of_its_answers_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "out"
    is_stopped = True

    def finish(answers: Iterable[str]) -> Iterator[str]:
        for answer in answers:
            yield answer.strip().upper()
        if is_stopped:
            raise Stopped

    for resume in (False, True):
        with pytest.raises(Stopped), open_output(path, resume, SETTINGS, finish) as output:
            assert len([*output.resumed("abc")]) == (3 if resume else 0)
            for (line, written), digest in [*zip(ANSWERS, "abc", strict=True)][output.kept :]:
                output.write(line, written, digest)
        assert sorted(contents(tmp_path)) == sorted([*parts(path)])
    is_stopped = False
    with open_output(path, True, SETTINGS, finish) as output:
        assert len([*output.resumed("abc")]) == 3
    assert contents(tmp_path) == {path: WHOLE.decode().replace("\n", "").upper().encode()}


@pytest.mark.parametrize("answer", [0, 1, 2])
@pytest.mark.parametrize("end", [0, 1])
def test_answers_that_a_power_cut_has_filled_with_zeros_are_made_again(
    answer: int, end: int, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped), open_output(path, False, SETTINGS) as output:
        for (line, written), digest in zip(ANSWERS, "abc", strict=True):
            output.write(line, written, digest)
        raise Stopped
    lines = WHOLE.splitlines(keepends=True)
    length = len(lines[answer])
    # All of it, or all but the line break: the journal is whole, and the size as it should be.
    lines[answer] = bytes(length - end) + lines[answer][length - end :]
    parts(path)[0].write_bytes(b"".join(lines))
    if answer == 0:  # it does not even begin as ours
        refused(path, r"out\.part: not the output of an interrupted run", resume=True)
    else:
        assert run(path, resume=True) == answer
        assert path.read_bytes() == WHOLE


def refused(path: Path, reason: str, resume: bool = False, inputs: str = "abc") -> None:
    """Assert that a refused run changes no file."""
    before = contents(path.parent)
    with pytest.raises(InputError, match=reason):
        run(path, resume, inputs=inputs)
    assert contents(path.parent) == before


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("resume", [False, True])
def test_files_that_are_not_ours_are_not_touched(resume: bool, tmp_path: Path) -> None:
    path = tmp_path / "out"
    part, journal = parts(path)
    for content in (b"", b"my notes\n"):
        part.write_bytes(content)
        refused(path, r"out\.part: .* no out\.journal beside it; rename or delete it", resume)
        part.rename(journal)
        refused(path, r"out\.journal: .* not a journal of this version", resume)
        journal.unlink()
    interrupted(path, 2)
    known = journal.read_bytes()
    part.write_bytes(b"my notes\n" * 20)  # someone else's, and our journal is still there
    refused(path, r"out\.part: .* out\.journal is that of another file", resume)
    part.write_bytes(WHOLE)
    journal.write_bytes(known.splitlines(keepends=True)[0])  # and that proves nothing
    refused(path, r"out\.part: .* out\.journal is that of another file", resume)


def test_a_part_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with open_output(path, False, SETTINGS) as output:
        parts(path)[0].write_text("my notes\n")
        with pytest.raises(RerankError, match=r"out\.part: cannot be written: File exists"):
            output.write(*ANSWERS[0], "a")
        parts(path)[0].rename(tmp_path / "notes")
    assert contents(tmp_path) == {path: b"", tmp_path / "notes": b"my notes\n"}


def test_what_is_deleted_or_replaced_ends_the_run_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "out"
    for place in (0, 1):
        for notes in (None, b"my notes\n"):
            with pytest.raises(Stopped), open_output(path, False, SETTINGS) as output:
                output.write(*ANSWERS[0], "a")
                taken = parts(path)[place]
                taken.unlink()
                if notes:
                    taken.write_bytes(notes)
                with pytest.raises(RerankError, match="was deleted or replaced while this run was"):
                    output.write(*ANSWERS[1], "b")
                raise Stopped
            assert not path.exists()
            assert (taken.read_bytes() if taken.exists() else None) == notes
            for each in parts(path):
                each.unlink(missing_ok=True)
    with (
        pytest.raises(RerankError, match="was deleted or replaced while this run was"),
        open_output(path, False, SETTINGS) as output,
    ):
        output.write(*ANSWERS[0], "a")
        parts(path)[0].unlink()  # after the last answer
        parts(path)[0].write_bytes(b"my notes\n")
    assert not path.exists()
    assert parts(path)[0].read_bytes() == b"my notes\n"


def test_until_the_file_has_its_name_it_can_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with (
        pytest.raises(RerankError, match=r"out: cannot be written: Is a directory"),
        open_output(path, False, SETTINGS) as output,
    ):
        for (line, written), digest in zip(ANSWERS, "abc", strict=True):
            output.write(line, written, digest)
        path.mkdir()  # the last rename fails
    path.rmdir()
    assert run(path, resume=True) == 3
    assert contents(tmp_path) == {path: WHOLE}


def test_a_journal_alone_describes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    for resume in (False, True):
        interrupted(path, 2)
        parts(path)[0].unlink()  # to start over; or a kill came just before the journal was deleted
        assert run(path, resume) == 0
        assert contents(tmp_path) == {path: WHOLE}


def test_what_is_complete_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = disk_order(tmp_path, monkeypatch)
    run(tmp_path / "out")
    assert order == [
        "create out.lock",
        *("write new", "create out.journal", "write folder"),
        *("write new", "create out.part", "write folder"),
        *("write .part", "replace out", "write folder"),
    ]


def test_other_input_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out"
    interrupted(path, 2)
    refused(path, "sentence 1 differs from the one that the interrupted run read", True, "xbc")
    refused(path, "sentence 2 differs from the one", True, "axc")
    refused(path, "there are fewer sentences than the interrupted run wrote", True, "a")
    with parts(path)[0].open("ab") as part:
        part.write(b"(S (NN en")  # an incomplete answer is not cut off either
    refused(path, "sentence 2 differs from the one", True, "axc")
    assert run(path, resume=True, inputs="aby") == 2
    assert path.read_bytes() == WHOLE


def test_parts_that_are_inputs(tmp_path: Path) -> None:
    for file in parts(tmp_path / "out"):
        file.write_text("trees")
        with pytest.raises(InputError, match=f"{file.name}: is also an input"):
            journaled_path(tmp_path / "out", ["-", str(file)])
        with pytest.raises(InputError, match=f"{file.name}: is also an input"):
            (tmp_path / "link").hardlink_to(file)
            journaled_path(tmp_path / "out", [tmp_path / "link"])
        (tmp_path / "link").unlink()
    assert journaled_path(tmp_path / "out", ["-"]) == tmp_path / "out"


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
    with pytest.raises(InputError, match=r"out\.part .*--resume"):
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
        pytest.raises(InputError, match=r"lm_weight .*0\.5.*1\.0") as caught,
        open_output(path, True, changed),
    ):
        pass
    assert str(caught.value).startswith(f"{path}.part: lm_weight")
    assert str(caught.value).endswith("rename or delete it, or give the output another name")
    fewer = {"models": SETTINGS["models"]}
    with pytest.raises(InputError, match=r"is null, but was 1\.0"), open_output(path, True, fewer):
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
    for path in (tmp_path / "no" / "out", Path("/dev/full/out"), tmp_path / ("n" * 256)):
        with pytest.raises(InputError, match="cannot be written"):
            run(path)
    with pytest.raises(InputError, match="cannot be resumed"), open_output(None, True, SETTINGS):
        pass


def test_a_strange_journal_line_ends_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        run(path, stop_after=2)
    for line in (f'[{10**15}, 5, "c", 0, 50, 1, 4]\n', "5\n"):
        with parts(path)[1].open("a") as journal:
            journal.write(line)
        refused(path, "sentence 2 differs from the one", True, "axc")
    assert run(path, resume=True) == 2
    assert path.read_bytes() == WHOLE


@pytest.mark.parametrize("name", ["x" * 246, "x" * 248, "x" * 251, "x" * 255, "\u4f60" * 85])
def test_a_name_as_long_as_a_name_can_be(name: str, tmp_path: Path) -> None:
    """Files beside the output have a shorter name, and are found again."""
    path = tmp_path / name
    assert journaled_path(path) == path
    interrupted(path, 2)
    assert run(path, resume=True) == 2
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert path.read_bytes() == WHOLE


def test_long_names_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    first, second = tmp_path / f"{'x' * 254}1", tmp_path / f"{'x' * 254}2"
    interrupted(first, 1)
    interrupted(second, 2)
    assert (run(first, resume=True), run(second, resume=True)) == (1, 2)
    with pytest.raises(InputError, match="File name too long"):
        journaled_path(tmp_path / ("x" * 256))
