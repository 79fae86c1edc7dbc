"""The surprisal child loads its model again; the files may have gone by then."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.errors import RerankError
from reranker.nbest.data import Origin, Sentence
from reranker.plugins.surprisal.service_child import _ForwardModels
from reranker.service.children.surprisal import ToRead
from reranker.text.reading import TextSentence


def test_a_file_that_is_gone_is_said_without_its_folder(tmp_path: Path) -> None:
    sentence = TextSentence(Sentence(("It",)), Origin("text", 1, "It", ((0, 2),)))
    gone = [str(tmp_path / "words.pt")]
    asked = ToRead(gone, "words.pt", "0" * 64, 1, sentence, 10, "bits", "word")
    with pytest.raises(RerankError) as caught:
        _ForwardModels().models(asked)
    assert str(caught.value) == "words.pt has changed since it was loaded"
