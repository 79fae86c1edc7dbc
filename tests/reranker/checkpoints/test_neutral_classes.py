"""Classes of unknown words in languages other than English."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.checkpoints.neutral_classes import NeutralClasses
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.models import AwdLstmDoc, Config

STEMS = ["baca", "jalan", "tulis", "lihat", "dengar", "kirim"]
WORDS = [
    *(f"ber{stem}" for stem in STEMS),
    *(f"{stem}kan" for stem in STEMS),
    "病人",
    "Iman",
    "3,5",
]


def test_affixes_are_learned_from_words_that_share_them() -> None:
    classes = NeutralClasses.learned(WORDS)
    assert {"ber-", "-kan"} <= {*classes.affixes}
    assert "-an" not in classes.affixes, "it ends no word without -kan"
    assert classes.name("berlari") == "<latinber->"
    assert classes.name("Ditanyakan") == "<Latin-kan>"


def test_scripts_case_and_digits() -> None:
    classes = NeutralClasses([])
    words = ["病人", "PSSI", "Riedl", "мир", "שלום", "بيت", "3.000", "A4", "?", "-LRB-"]
    names = "<cjk> <LATIN> <Latin> <cyrillic> <hebrew> <arabic> <0> <LATIN0> <sign> <LATIN>"
    assert [classes.name(word) for word in words] == names.split(" ")


def test_what_is_no_affix() -> None:
    for affix in ("kan", "-", "-longer", "a-b"):
        with pytest.raises(ValueError, match="not an affix"):
            NeutralClasses([affix])


def vocabulary() -> Vocabulary:
    tokens = ["(S", *WORDS, ")S"]
    return Vocabulary.build([tokens], 2, is_english=False)


def test_a_checkpoint_keeps_them_and_says_its_language(tmp_path: Path) -> None:
    known = vocabulary()
    config = Config(len(known), embedding_size=4, hidden_sizes=(4,), components=(0, 1))
    path = tmp_path / "id.pt"
    save_checkpoint(path, AwdLstmDoc(config), known, {"language": "id"})
    loaded = load_checkpoint(path)
    assert loaded.language == "id"
    assert loaded.vocabulary == known and loaded.vocabulary.digest == known.digest
    assert loaded.vocabulary.symbol("bernyanyi") == "<latinber->"
    english = Vocabulary.build([["(S", "walked", ")S"]], 2)
    save_checkpoint(path, AwdLstmDoc(Config(len(english), embedding_size=4, hidden_sizes=(4,),
                                            components=(0, 1))), english, {})  # fmt: skip
    assert load_checkpoint(path).language == "en"


def test_forms_of_a_word_are_one() -> None:
    known = Vocabulary.build([["(S", "cafe\u0301", "caf\u00e9", ")S"]], 2, is_english=False)
    assert known.symbol("Cafe\u0301") == known.symbol("caf\u00e9") == "caf\u00e9"
    assert not known.is_unknown("ca\u200bf\u00e9")
    english = Vocabulary.build([["(S", "cafe\u0301", "caf\u00e9", ")S"]], 2)
    assert english.is_unknown("caf\u00e9"), "English stays as it was"
