"""Words and sentences of languages other than English."""

from __future__ import annotations

import sys

import pytest

from reranker.errors import InputError
from reranker.languages import composed
from reranker.text.conventions import Convention, convention_of
from reranker.text.splitting import stretches
from reranker.text.words import given_words, split_into_words


def words(text: str, convention: Convention) -> list[str]:
    return [word.text for word in split_into_words(text, convention)]


def test_each_language_has_a_way_of_its_own() -> None:
    assert [convention_of(code) for code in ("en", "id", "zh", "ja", "is")] == [
        "gum", "id", "zh", "characters", "spaced",
    ]  # fmt: skip


def test_indonesian_as_its_treebank_has_it() -> None:
    text = 'Harganya Rp 3.000,50 (kira-kira). Dr. Budi & ibunya: "Hanya itu," katanya di x.id.'
    found = " ".join(words(text, "id"))
    assert found == (
        'Harga nya Rp 3.000,50 -LRB- kira - kira -RRB- . Dr. Budi & ibu nya : " Hanya itu , " '
        "kata nya di x.id ."
    )


def test_words_between_spaces() -> None:
    assert words("Hvað heitir þú?", "spaced") == ["Hvað", "heitir", "þú", "?"]
    assert words("ذهب الولد إلى المدرسة.", "spaced") == ["ذهب", "الولد", "إلى", "المدرسة", "."]


def test_chinese_words_and_characters() -> None:
    pytest.importorskip("jieba")
    text = "我们通过静脉给予3.5mg\uff0c(真的)\uff01"
    assert words(text, "zh") == [
        "我们", "通过", "静脉", "给予", "3.5", "mg", "\uff0c", "-LRB-", "真的", "-RRB-", "\uff01",
    ]  # fmt: skip
    assert words("我们3.5mg。", "characters") == ["我", "们", "3.5", "mg", "。"]


def test_places_are_those_of_the_text() -> None:
    text = "Ibunya  (A&B) | kata-kata"
    for word in split_into_words(text, "id"):
        assert word.text in (text[word.start : word.end], "-LRB-", "-RRB-")


def test_forms_of_a_word_are_one_and_its_place_is_the_texts() -> None:
    given = given_words("cafe\u0301 a\u200bb", "spaced")
    assert [(word.text, word.start, word.end) for word in given] == [("café", 0, 5), ("ab", 6, 9)]
    assert [word.text for word in given_words("cafe\u0301")] == ["cafe\u0301"], "English stays"
    assert composed("\u200b") == "\u200b", "a word is never empty"


def test_what_cannot_be_seen_is_no_word() -> None:
    assert words("Ibu \u200b guru \u202bmembaca\u202c.", "id") == ["Ibu", "guru", "membaca", "."]
    assert words("می\u200cرود.", "spaced") == ["می\u200cرود", "."], "Persian spells with joiners"


@pytest.mark.parametrize("convention", ["zh", "characters"])
def test_other_scripts_within_chinese_stay_whole(convention: Convention) -> None:
    if convention == "zh":
        pytest.importorskip("jieba")
    for word in ("café", "cafe\u0301", "Ιθάκη", "נערה"):
        assert words(f"去{word} bar。", convention) == ["去", composed(word), "bar", "。"]
    assert words("か\u3099", "characters") == ["が"]


def test_chinese_sentences_end_without_a_space() -> None:
    text = "他来了。“我走了\uff01”她说。你呢\uff1f\n"
    ends = [each.text for each in stretches([text], "text", "zh")]
    assert ends == ["他来了。", "“我走了\uff01”", "她说。", "你呢\uff1f"]
    assert len(list(stretches([text], "text"))) == 1, "of English nothing changes"


def test_without_jieba_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(InputError, match=r"pip install .*--words characters"):
        split_into_words("我们", "zh")
