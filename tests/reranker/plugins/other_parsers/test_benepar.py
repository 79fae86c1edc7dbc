"""benepar itself, with untrained models of both kinds: of characters, and of a transformer."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from reranker.commands.main import main
from reranker.errors import InputError
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers.parser import Parser, ParserSettings
from reranker.parsers.registry import create_parser
from reranker.plugins.other_parsers.benepar import import_benepar
from reranker.process.cancellation import Stopped
from reranker.trees.tree import Tree
from tests.reranker.small_files import write
from tests.waiting import at_once

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("benepar") is None, reason="the package benepar is not installed"),
    pytest.mark.filterwarnings("default"),  # its own, of torch and transformers
]

WORDS = ["We", "saw", "the", "man", "-LRB-", "with", "eyes", "-RRB-", "``", "it", "''", "."]
LONGEST = 30  # words


def hparams(**others: object) -> dict[str, object]:
    sizes = ("d_model", "d_kv", "d_ff", "d_label_hidden", "d_tag_hidden", "d_char_emb")
    return {
        **dict.fromkeys(sizes, 16),
        **{"num_heads": 2, "num_layers": 1, "encoder_max_len": LONGEST + 2, "use_encoder": True},
        **{"predict_tags": True, "tag_loss_scale": 1.0, "force_root_constituent": True},
        **dict.fromkeys(
            [
                *("morpho_emb_dropout", "relu_dropout", "residual_dropout"),
                *("attention_dropout", "char_lstm_input_dropout"),
            ],
            0.0,
        ),
        **others,
    }


def untrained(settings: dict[str, object], transformer: str | None = None) -> Any:
    import torch

    import_benepar()
    from benepar.char_lstm import RetokenizerForCharLSTM
    from benepar.nkutil import HParams
    from benepar.parse_chart import ChartParser

    torch.manual_seed(1)
    labels = ["", "S", "NP", "VP", "S::VP"]
    tags = ["UNK", "NN", "VB", "."]
    return ChartParser(
        {tag: place for place, tag in enumerate(tags)},
        {label: place for place, label in enumerate(labels)},
        RetokenizerForCharLSTM.build_vocab([WORDS]),
        HParams(**settings),
        transformer,
    )


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a checkpoint as benepar's training saves it."""
    import torch

    path = tmp_path_factory.mktemp("benepar") / "characters.pt"
    model = untrained(hparams(use_chars_lstm=True, use_pretrained=False))
    torch.save({"config": model.config, "state_dict": model.state_dict()}, path)
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a model as benepar publishes it: BERT, and the layers behind it."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    path = tmp_path_factory.mktemp("benepar_bert")
    letters = [chr(place) for place in range(33, 127)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{x}" for x in letters)]
    (path / "vocab.txt").write_text("\n".join(pieces), "utf-8")
    BertTokenizerFast(str(path / "vocab.txt"), model_max_length=512).save_pretrained(path)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    bert = BertConfig(vocab_size=len(pieces), num_hidden_layers=1, **sizes)
    BertModel(bert).save_pretrained(path)
    settings = hparams(use_chars_lstm=False, use_pretrained=True, pretrained_model=str(path))
    model = untrained(settings, str(path))
    torch.save(model.state_dict(), path / "benepar_model.bin")
    bert.benepar = {**model.config, "hparams": settings}
    bert.save_pretrained(path)
    return str(path)


@pytest.fixture(params=["checkpoint", "folder"])
def parser(request: pytest.FixtureRequest) -> Parser:
    return create_parser("benepar", ParserSettings(model=request.getfixturevalue(request.param)))


def trees(found: Sequence[NBest | str]) -> list[str]:
    return [each if isinstance(each, str) else each.candidates[0].text for each in found]


def test_the_tree_of_each_sentence_is_benepars_own(parser: Parser, checkpoint: str) -> None:
    sentences = [Sentence.of(WORDS), Sentence.of(["We"]), Sentence.of(WORDS[:4])]
    found = trees(parser.parse(sentences))
    for tree, sentence in zip(map(Tree.from_string, found), sentences, strict=True):
        assert tree.leaves() == list(sentence.words)
        assert set(tree.tags()) <= {"UNK", "NN", "VB", "."}
    assert found == [trees(parser.parse([sentence]))[0] for sentence in sentences]
    benepar = import_benepar()
    own = benepar.Parser(checkpoint).parse(benepar.InputSentence(escaped_words=WORDS))
    adapted = create_parser("benepar", ParserSettings(model=checkpoint)).parse(sentences[:1])
    assert trees(adapted) == [Tree.from_nltk(own).to_string()]


def test_a_sentence_that_it_cannot_parse_costs_itself_alone(checkpoint: str) -> None:
    parser = create_parser("benepar", ParserSettings(model=checkpoint))
    sentences = [Sentence.of(WORDS), Sentence.of(["it"] * (LONGEST + 1)), Sentence.of(["it"])]
    found = parser.parse(sentences)
    assert [isinstance(each, NBest) for each in found] == [True, False, True]
    assert "exceeds the maximum supported length" in str(found[1])
    with pytest.raises(InputError, match="benepar: 20 sentences"):
        create_parser("benepar", ParserSettings(model=checkpoint)).parse([sentences[1]] * 20)


def test_threads_and_an_end(checkpoint: str) -> None:
    parser = create_parser("benepar", ParserSettings(model=checkpoint))
    expected = trees(parser.parse([Sentence.of(WORDS)]))
    assert at_once(4, lambda: trees(parser.parse([Sentence.of(WORDS)]))) == [expected] * 4
    parser.stop()
    with pytest.raises(Stopped):
        parser.parse([Sentence.of(WORDS)])


def test_from_the_command_line(
    tmp_path: Path, checkpoint: str, models: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = write(tmp_path / "t.txt", "We saw it (again). The man met it.")
    flags = ["--parser", "benepar", "--parser-model", checkpoint, "--models", *models]
    assert main(["parse", text, *flags, "--threads", "1", "--jobs", "2"]) == 0
    leaves = [Tree.from_string(line).leaves() for line in capsys.readouterr().out.splitlines()]
    assert leaves == [
        ["We", "saw", "it", "-LRB-", "again", "-RRB-", "."],
        ["The", "man", "met", "it", "."],
    ]


def test_within_spacy_whose_attributes_stay_ours(checkpoint: str, models: list[str]) -> None:
    import spacy  # benepar needs it

    from reranker.plugins.pipelines import spacy_component

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    config = {"parser": "benepar", "parser_model": checkpoint, "models": models, "threads": 1}
    pipeline.add_pipe("parse_reranker", config=config)
    (sentence,) = pipeline("We saw (it).").sents
    assert sentence._.parse_problem is None
    assert Tree.from_string(sentence._.parse_string).leaves()[2] == "-LRB-"
    with pytest.raises(spacy_component.NonConstituentError):
        spacy.blank("en")("a")[:]._.labels  # noqa: B018


def test_attributes_of_spans_mean_what_benepars_mean(checkpoint: str) -> None:
    import spacy

    from reranker.plugins.pipelines import spacy_component

    component = import_benepar().BeneparComponent(checkpoint)
    theirs = import_module("benepar.integrations.spacy_extensions")
    words = ["We", "saw", "(", "it", ")", "with", "eyes", "."]
    vocabulary = spacy.blank("en").vocab
    doc = component(spacy.tokens.Doc(vocabulary, words, sent_starts=[True, *[False] * 7]))
    doc._.parse_reranker = [(0, len(doc), theirs.parse_string(doc[:]), None, None)]
    constituents = 0
    for start, end in itertools.combinations(range(len(doc) + 1), 2):
        span = doc[start:end]
        try:
            labels = theirs.get_labels(span)
        except theirs.NonConstituentException:
            with pytest.raises(spacy_component.NonConstituentError):
                span._.labels  # noqa: B018
            continue
        constituents += 1
        assert span._.labels == labels
        assert span._.parse_string == theirs.parse_string(span)
        assert list(span._.constituents) == list(theirs.get_subconstituents(span))
        assert list(span._.children) == list(theirs.get_child_spans(span))
        assert span._.parent == theirs.get_parent_span(span)
    assert constituents > len(doc)


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs --parser-model"):
        create_parser("benepar", ParserSettings())
    wrong = tmp_path / "wrong.pt"
    wrong.write_bytes(json.dumps({"a": 1}).encode())
    for model in (str(wrong), "no_such_model", str(tmp_path)):
        with pytest.raises(InputError, match="parser benepar"):
            create_parser("benepar", ParserSettings(model=model))
