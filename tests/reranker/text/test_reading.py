"""Sentences read from a text, and those that cannot be given to a parser."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.text.conventions import Convention
from reranker.text.marked import OUTSIDE, marked_sentences
from reranker.text.reading import Text
from reranker.text.splitting import TextForm
from tests.reranker.small_files import write


def test_lines_that_cannot_be_parsed_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(b"One (two) three\n\n  \nbad \xff byte\none two three four\nNa\xc3\xafve .")
    found = [
        (" ".join(one.sentence.words), one.place, one.problem, one.fault)
        for one in Text([path], "tokens", longest=3)
    ]
    assert found == [
        ("One -LRB-two-RRB- three", f"{path}:1", None, None),
        ("bad \ufffd byte", f"{path}:4", None, "byte 0xff is not UTF-8"),
        ("one two three four", f"{path}:5", "4 words, more than 3", None),
        ("Na\N{LATIN SMALL LETTER I WITH DIAERESIS}ve .", f"{path}:6", None, None),
    ]


@pytest.mark.parametrize("form", ["tokens", "sentences"])
@pytest.mark.parametrize("convention", ["gum", "spaced"])
def test_a_line_with_nothing_to_see_is_named(
    form: TextForm, convention: Convention, tmp_path: Path
) -> None:
    path = tmp_path / "t.txt"
    path.write_text("Yes\n\u200b\n\u200b \u2060\n", encoding="utf-8")
    found = [(one.place, one.problem) for one in Text([path], form, convention)]
    reason = "no visible characters"
    assert found == [(f"{path}:1", None), (f"{path}:2", reason), (f"{path}:3", reason)]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_words_know_where_they_are_in_the_file(tmp_path: Path, mark: str) -> None:
    text = "\r\n Caf\xe9 \U0001f600 isn't open.\r\nIt's shut. \r\n\r\nBye"
    path = tmp_path / "t.txt"
    path.write_bytes((mark + text).encode())
    found = list(Text([path]))
    spelled = [[text[start:end] for start, end in one.origin.offsets] for one in found]
    assert spelled == [list(one.sentence.words) for one in found]
    assert [len(one) for one in spelled] == [6, 4, 1]
    assert [one.origin.line for one in found] == [2, 3, 5]
    assert found[1].origin.text == "It's shut."


def test_several_files_and_how_much_of_them_is_read(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("A b.\n\nC d.")
    two.write_bytes(gzip.compress(b"E f.\n" * 3_000))
    text = Text([one, two], "sentences")
    assert text.size == 10 + two.stat().st_size
    found = list(text)
    places, positions = [one.place for one in found], [one.position for one in found]
    assert places[:3] == [f"{one}:1", f"{one}:3", f"{two}:1"]
    assert positions[:2] == [5, 10]
    assert positions[2] < text.size / 2 < positions[-600]  # of packed files, about
    assert positions[-1] == pytest.approx(text.size, abs=5)


def test_any_number_of_files_is_read_with_one_open_at_a_time(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(40)]
    for path in paths:
        path.write_text("It is.\n")
    before = len(os.listdir("/dev/fd"))
    text = Text(paths, "tokens")
    assert len(os.listdir("/dev/fd")) < before + 20
    assert [one.place for one in text] == [f"{path}:1" for path in paths]


def test_a_pipe_is_opened_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("It is.\nYes.\n",))
    writer.start()
    text = Text([pipe], "tokens")
    assert text.size is None
    assert [one.origin.text for one in text] == ["It is.", "Yes."]
    writer.join()


def test_a_file_that_has_gone_when_its_turn_comes(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("It is.\n")
    text = Text([path])
    path.unlink()
    with pytest.raises(InputError, match=r"t\.txt: cannot be read"):
        list(text)


def test_a_damaged_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "t.txt.gz"
    path.write_bytes(gzip.compress(b"a b\n" * 15_000, 1)[:-30])
    *lines, last = Text([path], "tokens")
    assert len(lines) > 1000
    assert last.problem and "cannot be read to its end" in last.problem


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.txt"):
        Text([tmp_path / "none.txt"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tom &amp; Ann ran.", [("Tom", "Tom"), ("&", "&amp;"), ("Ann", "Ann"), ("ran", "ran")]),
        ("&quot;R&amp;D&quot; it", [('"', "&quot;"), ("R&D", "R&amp;D"), ('"', "&quot;")]),
        ("It didn&#39;t", [("It", "It"), ("did", "did"), ("n't", "n&#39;t")]),
        ("A&nbsp;b &#x2013; caf&eacute;", [("A", "A"), ("b", "b"), ("\u2013", "&#x2013;")]),
        ("&lt;b&gt; is", [("<", "&lt;"), ("b", "b"), (">", "&gt;"), ("is", "is")]),
        ("It &nosuch; is", [("It", "It"), ("&", "&"), ("nosuch", "nosuch"), (";", ";")]),
    ],
)
def test_entities_are_characters_at_the_places_of_the_entities(
    text: str, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    (sentence,) = Text([write(tmp_path / "t.txt", text)])
    places = sentence.origin.offsets
    found = zip(sentence.sentence.words, (text[begin:end] for begin, end in places), strict=True)
    assert [*found][: len(expected)] == expected


def test_an_entity_is_a_mark_of_an_end(tmp_path: Path) -> None:
    text = "He said &quot;No.&quot; Then Ann left. &quot;Go!&quot; said Ann. &lt;So&gt; it ran."
    messages: list[str] = []
    read = Text([write(tmp_path / "t.txt", text)], report=messages.append)
    assert [sentence.origin.text for sentence in read] == [
        "He said &quot;No.&quot;",
        "Then Ann left.",
        "&quot;Go!&quot; said Ann.",
        "&lt;So&gt; it ran.",
    ]
    assert messages == [f"{tmp_path / 't.txt'}: mark-up such as &quot; is decoded"]


def test_lines_in_marks_of_sentences_have_words(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("<s> The well-known dog sleeps . </s>\n<s n1> It's late .</s>\n")
    messages: list[str] = []
    for form in ("text", "sentences", "tokens"):
        found = [one.sentence.words for one in Text([path], form, report=messages.append)]
        assert found == [("The", "well-known", "dog", "sleeps", "."), ("It's", "late", ".")]
    assert messages[0].startswith(f"{path}: sentences are between <s>")


def test_marks_enclose_sentences_on_one_line_and_on_several(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    text = "<s> It is . </s> <s x y> He\nwould n't\ngo . </s>\n\n<s> No </s>\nIt is.\n<s>\nYes </s>"
    path.write_text(text)
    found = [*Text([path])]
    assert [(each.sentence.words, each.origin.line, each.problem) for each in found] == [
        (("It", "is", "."), 1, None),
        (("He", "would", "n't", "go", "."), 1, None),
        (("No",), 5, None),
        (("It", "is."), 6, OUTSIDE),
        (("Yes",), 8, None),
    ]
    for each in found:
        places = each.origin.offsets
        assert tuple(text[start:end] for start, end in places) == each.sentence.words


@pytest.mark.parametrize(
    "text, expected",
    [
        ("<s> wrong </s> He didn't go. It is.", ["wrong He did n't go .", "It is ."]),
        ("Use <s> and </s> here.", ["Use < s > and < /s > here ."]),
        ("<s>One</s> and two.", ["One and two ."]),
    ],
)
def test_struck_out_words_are_no_marks_of_sentences(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    path = tmp_path / "t.txt"
    path.write_text(text)
    assert [" ".join(each.sentence.words) for each in Text([path])] == expected


def test_marked_sentences_in_pieces_are_those_of_the_whole() -> None:
    text = 40 * "<s a b> a word\n c </s> <s> d </s>\n"
    pieces = (text[start : start + 7] for start in range(0, len(text), 7))
    assert [*marked_sentences(pieces)] == [*marked_sentences([text])]
    found = [*marked_sentences(["<s> "] + 9_000 * ["a bc "] + ["</s> <s> d </s>"])]
    assert [each.is_cut for each, _ in found] == [True, True, False]
    assert {*" ".join(each.text for each, _ in found).split()} == {"a", "bc", "d"}
