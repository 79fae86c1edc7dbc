"""The output of ``rerank analyse`` about mixtures, ranks, classes, windows and curves, worked out
by hand."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from reranker.errors import InputError
from reranker.models import AwdLstmDoc, Config
from reranker.plugins.analysis.classes import broad_class, totals_by_class
from reranker.plugins.analysis.curves import Evaluation, read_curves, read_log
from reranker.plugins.analysis.mixture import component_layers, mixture_weights
from reranker.plugins.analysis.rank import MatrixRank, matrix_rank
from reranker.plugins.analysis.readings import (
    LinearTree,
    linear_tree,
    read_trees,
    token_log_probabilities,
)
from reranker.plugins.analysis.report import names
from reranker.plugins.analysis.windows import WindowPoint, point, window_report
from reranker.trees.tree import Tree
from tests.models.settings import SETTINGS, build
from tests.reranker.ensembles import CANDIDATES, untrained
from tests.reranker.plugins.analysis.known_models import (
    THE_DOG,
    THE_DOG_BARKS,
    VOCABULARY,
    checkpoint,
    even_attention,
    known_mixture,
    known_softmax,
    trees,
)
from tests.reranker.scoring.one_by_one import score_one_by_one
from tests.reranker.small_files import write


def test_tokens_and_their_kinds() -> None:
    text = "(TOP (S (NP-SBJ (-NONE- *)) (NP-TMP (NN-X end)) (-LRB- -LRB-) (. .)))"
    tree = linear_tree(Tree.from_string(text))
    # Traces go, with constituents that are empty without them, and function tags; -LRB- stays.
    assert tree.tokens == ("(S", "(NP", "end", ")NP", "-LRB-", ".", ")S")
    assert tree.kinds == ("(S", "(NP", "NN", ")NP", "-LRB-", ".", ")S", "<eos>")


BACKWARD = untrained(5, backward=True)


def turned(tree: LinearTree) -> LinearTree:
    """Return the tree as if it were written from its end."""
    *kinds, end = tree.kinds
    return LinearTree(tree.tokens[::-1], (*kinds[::-1], end))


def test_a_backward_models_figures_belong_to_the_tokens_of_the_tree() -> None:
    (tree,) = trees(THE_DOG)
    assert tree.as_read(untrained(5)) == tree
    assert tree.as_read(BACKWARD) == (
        (")NP", "dog", "The", "(NP"), (")NP", "NN", "DT", "(NP", "<eos>")
    )  # fmt: skip
    some = trees(*CANDIDATES)
    forward = untrained(5)
    # The same weights, reading forward a text written from its end.
    found = dict(token_log_probabilities(BACKWARD, some))
    for place, values in token_log_probabilities(forward, [turned(tree) for tree in some]):
        *from_the_end, end = values
        assert found[place] == pytest.approx([*from_the_end[::-1], end])
    totals = totals_by_class(BACKWARD, some, str)
    expected = totals_by_class(forward, [turned(tree) for tree in some], str)
    assert totals.keys() == expected.keys()
    for name, one in totals.items():
        assert one.tokens == expected[name].tokens, name
        assert one.nll == pytest.approx(expected[name].nll), name
    weights = mixture_weights(BACKWARD, some, "m")
    again = mixture_weights(forward, [turned(tree) for tree in some], "m")
    assert weights.tokens == again.tokens
    for kind, sums in weights.by_predicted.items():
        assert sums == pytest.approx(again.by_predicted[kind])


def test_a_sample_of_trees(tmp_path: Path) -> None:
    file = Path(write(tmp_path / "t.mrg", "".join(f"(S1 (NP (X {w})))\n" for w in "abcdefgh")))
    everything = read_trees([file])
    assert [tree.tokens for tree in everything] == [("(NP", word, ")NP") for word in "abcdefgh"]
    drawn = [read_trees([file], 3, seed) for seed in range(400)]
    places = [[everything.index(tree) for tree in some] for some in drawn]
    assert all(len(some) == 3 and some == sorted(set(some)) for some in places)
    # Each is in 3/8 of 400 samples: 150, with a standard deviation of sqrt(150 * 5/8) = 9.7.
    often = Counter(place for some in places for place in some)
    assert all(often[place] == pytest.approx(150, abs=40) for place in range(8))
    assert read_trees([file], 3, 5) == drawn[5]
    assert read_trees([file], 20) == everything


@pytest.mark.parametrize("setting", SETTINGS)
def test_tokens_are_scored_as_one_by_one(setting: str) -> None:
    model = build(setting, replace(SETTINGS[setting], vocabulary_size=len(VOCABULARY)))
    member = checkpoint(model)
    some = trees(THE_DOG_BARKS, THE_DOG, *CANDIDATES)
    found = dict(token_log_probabilities(member, some))
    ids = [VOCABULARY.encode(tree.tokens) for tree in some]
    assert [len(found[place]) for place in range(len(some))] == list(map(len, ids))
    expected = score_one_by_one(model, ids, VOCABULARY.eos)
    totals = [sum(found[place]) for place in range(len(some))]
    assert totals == pytest.approx(expected.tolist(), rel=1e-5)


def test_coefficient_of_variation_by_hand() -> None:
    member = known_mixture((0.5, 0.3, 0.2), components=(1, 2))
    weights = mixture_weights(member, trees(THE_DOG, THE_DOG_BARKS), "m")
    # (NP the dog )NP <eos> and (NP the dog barks )NP <eos>: 11 tokens
    assert weights.summed == pytest.approx((5.5, 3.3, 2.2))
    # std: sqrt((0.1667^2 + 0.0333^2 + 0.1333^2) / 2) = 0.15275, avg: 0.33333
    assert weights.variation == pytest.approx(0.15275 / 0.33333, abs=1e-4)
    assert weights.mean == pytest.approx((0.5, 0.3, 0.2))
    assert weights.layers == ("embedding", "layer 1", "layer 1")
    assert weights.of_layer("embedding") == pytest.approx(0.5)
    assert weights.of_layer("layer 1", "words") == pytest.approx(0.5)
    assert weights.tokens == {"words": 5, "opening": 2, "closing": 2, "end": 2}
    assert mixture_weights(known_mixture((0.25,) * 4, (0, 4)), trees(THE_DOG), "m").variation == (
        pytest.approx(0, abs=1e-6)
    )


def test_component_layers() -> None:
    found = {setting: component_layers(build(setting)) for setting in SETTINGS}
    assert found["awd-lstm-doc: DOC"] == ("layer 1", "layer 2", "layer 2")
    assert found["rnn-n: DOC"] == ("embedding", "h*", "h*")
    assert found["key-value-predict: DOC"] == ("layer 1", "layer 2", "h*")
    assert found["attention: MoS"] == ("h*",) * 3
    assert all(found[setting] == () for setting in SETTINGS if setting.endswith("softmax"))


def test_weights_are_told_apart_by_what_comes_next() -> None:
    member = untrained(3)
    some = trees(*CANDIDATES[:3])
    found = mixture_weights(member, some, "m")
    sums = {kind: torch.zeros(4) for kind in found.by_predicted}
    for tree in some:
        state, before = member.model.initial_state(1), member.vocabulary.eos
        for token, number in zip(
            (*tree.tokens, "end"), member.vocabulary.encode(tree.tokens), strict=True
        ):
            features, state = member.model.step(torch.tensor([before]), state)
            kind = {"(": "opening", ")": "closing"}.get(token[0], "words")
            sums["end" if token == "end" else kind] += features.log_weights[0].exp()
            before = number
    for kind, expected in sums.items():
        assert found.by_predicted[kind] == pytest.approx(expected.tolist(), rel=1e-4)


def test_one_softmax_has_no_mixture() -> None:
    with pytest.raises(InputError, match=r"lstm\.pt has only one softmax"):
        mixture_weights(known_softmax(), trees(THE_DOG), "lstm.pt")


def _random_model(components: tuple[int, ...]) -> AwdLstmDoc:
    torch.manual_seed(4)
    model = AwdLstmDoc(
        Config(len(untrained(1).vocabulary), 4, (16, 4), components, embedding_range=1.0)
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=1.0)
    return model


def test_rank_of_one_softmax_is_bounded_by_its_size_and_that_of_a_mixture_is_not() -> None:
    some = trees(*CANDIDATES)
    vocabulary = untrained(1).vocabulary
    one = matrix_rank(checkpoint(_random_model(()), vocabulary), some, "m", 1000)
    assert min(one.contexts, one.symbols) > 20
    assert one.rank == one.bound == 4 + 2, "D = 4, the bias and the normalisers"
    mixed = matrix_rank(checkpoint(_random_model((0, 2, 2)), vocabulary), some, "m", 1000)
    assert mixed.rank == mixed.bound == min(one.contexts, one.symbols)


def test_rank_takes_tiny_singular_values_for_zero() -> None:
    epsilon = 2.0**-52
    some = MatrixRank("m", 10, 100, 10, (8.0, 1.0, 0.007, 801 * epsilon, 799 * epsilon))
    assert some.tolerance == 8 * 100 * epsilon
    assert some.rank == 4
    assert some.large == 2, "0.007 is less than a thousandth of 8"


def test_contexts_count_once() -> None:
    member = known_mixture((0.5, 0.5), components=(0, 2))
    # After nothing, (NP, (NP the, (NP the dog, the last twice: )NP and barks; barks )NP.
    some = trees(THE_DOG, THE_DOG_BARKS, THE_DOG)
    assert matrix_rank(member, some, "m", 1000).contexts == 7
    assert matrix_rank(member, some, "m", 6).contexts == 6
    # Always the same distribution: whatever the rows, they are one and the same.
    assert matrix_rank(member, some, "m", 1000).rank == 1


def test_classes_of_tags() -> None:
    expected = {
        "NNPS": "nouns", "MD": "verbs", "JJR": "adjectives", "WRB": "adverbs",
        "PRP$": "personal pronouns", "PDT": "determiners", "TO": "prepositions",
        "-LRB-": "punctuation", "CD": "other words", "(PRN": "opening brackets",
        ")PRN": "closing brackets", "<eos>": "end",
    }  # fmt: skip
    assert {kind: broad_class(kind) for kind in expected} == expected


def test_perplexity_by_class_by_hand() -> None:
    totals = totals_by_class(known_softmax(), trees(THE_DOG, THE_DOG_BARKS))
    # dog and barks have 1/16, the and <eos> 1/8, (NP 1/4, )NP 1/8
    expected = {
        "nouns": (2, 16.0), "verbs": (1, 16.0), "determiners": (2, 8.0),
        "opening brackets": (2, 4.0), "closing brackets": (2, 8.0), "end": (2, 8.0),
        # The geometric mean of 16^3 * 8^6 * 4^2: 2^(12 + 18 + 4) over 11 tokens
        "all": (11, 2 ** (34 / 11)),
    }  # fmt: skip
    assert list(totals) == list(expected)
    for name, (tokens, value) in expected.items():
        assert totals[name].tokens == tokens
        assert totals[name].perplexity == pytest.approx(value, rel=1e-5)


def test_perplexities_by_class_weigh_back_to_the_whole() -> None:
    member = untrained(2)
    some = trees(*CANDIDATES)
    broad, narrow = totals_by_class(member, some), totals_by_class(member, some, str)
    assert set(narrow) > {"NNS", "PRP", "(NP", ")VP", "<eos>", "all"}
    for totals in (broad, narrow):
        everything = totals.pop("all")
        logs = sum(one.tokens * math.log(one.perplexity) for one in totals.values())
        assert math.exp(logs / everything.tokens) == pytest.approx(everything.perplexity)
    ids = [member.vocabulary.encode(tree.tokens) for tree in some]
    total = -score_one_by_one(member.model, ids, member.vocabulary.eos).sum()
    assert everything.nll == pytest.approx(float(total), rel=1e-5)


def test_windows_by_hand() -> None:
    found = point(even_attention(4), trees(THE_DOG, THE_DOG_BARKS), "a.pt")
    assert found == WindowPoint("a.pt", "attention", 4, found.perplexity)
    assert found.perplexity == pytest.approx(2 ** (34 / 11))
    with pytest.raises(InputError, match=r"l\.pt: awd-lstm-doc"):
        point(known_softmax(), trees(THE_DOG), "l.pt")
    some = window_report(
        (
            WindowPoint("1", "attention", 10, 7.0),
            WindowPoint("2", "attention", 2, 5.0),
            WindowPoint("3", "rnn-n", 2, 6.0),
            WindowPoint("4", "attention", 10, 9.0),
        )
    )
    assert [line.split() for line in some.text().splitlines()] == [
        ["architecture", "2", "10"],
        ["attention", "5.00", "8.00", "±", "1.41"],
        ["rnn-n", "6.00"],
    ]


def test_learning_curves(tmp_path: Path) -> None:
    rows = (
        {"batches": 50, "tokens": 900, "seconds": 60.0, "loss": 5.0, "learning_rate": 0.1},
        {"batches": 60, "tokens": 1000, "seconds": 90.0, "dev_perplexity": 9.0, "epoch": 0.5},
        {"batches": 120, "tokens": 2000, "seconds": 180.0, "dev_perplexity": 7.5, "epoch": 1.0},
        {"batches": 180, "tokens": 3000, "seconds": 270.0, "dev_perplexity": 8.0, "epoch": 1.5},
    )
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / name / "log.jsonl").write_text(text + '{"batches": 240, "tok')
    log = tmp_path / "two" / "log.jsonl"
    assert read_log(log) == [
        Evaluation(0.5, 1000, 1.5, 9.0), Evaluation(1.0, 2000, 3.0, 7.5),
        Evaluation(1.5, 3000, 4.5, 8.0),
    ]  # fmt: skip
    curves = read_curves([tmp_path / "one", log], "epochs")
    assert [line.split() for line in curves.text().splitlines()[1:]] == [
        [name, "3", "7.500", "1.00", "2,000", "3.0", "8.000"] for name in ("one", "two")
    ]
    log.write_text(json.dumps(rows[0]))
    with pytest.raises(InputError, match=r"log\.jsonl: "):
        read_log(log)


def test_names() -> None:
    assert names([Path("a/m.pt"), Path("b/n.pt")]) == ["m.pt", "n.pt"]
    assert names([Path("a/m.pt"), Path("b/m.pt")]) == [str(Path("a/m.pt")), str(Path("b/m.pt"))]
