from __future__ import annotations

import math

import pytest

import reranker.plugins.generation.beam_search as search
from reranker.plugins.generation.beam_search import BeamSettings, Hypothesis, generate
from reranker.plugins.generation.encoder_decoder_file import Generator, load_generator
from tests.reranker.plugins.generation.generators import pairs, trained_parser

SENTENCES = [list(pair.source) for pair in pairs()]


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    return load_generator(trained_parser(tmp_path_factory.mktemp("parser")))


def test_a_trained_parser_parses_its_training_sentences(parser: Generator) -> None:
    found = list(generate([parser], SENTENCES, BeamSettings(3)))
    assert [each[0].tokens for each in found] == [list(pair.target) for pair in pairs()]
    for outputs in found:
        assert len(outputs) == 3
        scores = [each.score for each in outputs]
        assert scores == sorted(scores, reverse=True)
        assert scores == [each.log_probability for each in outputs], "length_power is 0"


def same(found: list[list[Hypothesis[str]]], expected: list[list[Hypothesis[str]]]) -> bool:
    return all(
        one.tokens == other.tokens
        and math.isclose(one.log_probability, other.log_probability, abs_tol=1e-4)
        for some, others in zip(found, expected, strict=True)
        for one, other in zip(some, others, strict=True)
    )


def test_outputs_come_in_the_order_of_sentences_whatever_the_batches(
    parser: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = [*SENTENCES, [], ["never", "seen"], *SENTENCES[::-1]]
    together = list(generate([parser, parser], sentences, BeamSettings(2, 1.0)))
    assert len(together) == len(sentences)
    assert [bool(each) for each in together].count(False) == 1 and not together[len(SENTENCES)]
    alone = [next(generate([parser], [one], BeamSettings(2, 1.0))) for one in sentences]
    assert same(together, alone), "an ensemble of the same model twice is that model"
    monkeypatch.setattr(search, "_AHEAD", 4)
    monkeypatch.setattr(search, "_ROWS", 1)
    assert same(list(generate([parser], sentences, BeamSettings(2, 1.0))), alone)


def test_the_unknown_symbol_is_never_put_out(parser: Generator) -> None:
    words = [["zebra", "walks", "!"], ["?"]]
    found = list(generate([parser], words, BeamSettings(20)))
    tokens = {token for outputs in found for each in outputs for token in each.tokens}
    assert tokens and "<unk>" not in tokens and "<eos>" not in tokens
