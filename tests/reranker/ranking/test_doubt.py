"""The least sure bracket in words: by hand, in Python and on the page."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reranker.nbest import Candidate, NBest
from reranker.nbest.data import Certainty
from reranker.ranking import Ranking, Scored, Weighing, rank
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree

PAGE = Path(__file__).parents[3] / "service" / "page"
PROGRAM = """
    const [doubt, answer, sentences] = JSON.parse(require("fs").readFileSync(0));
    Promise.all([import(doubt), import(answer)]).then(([{doubtOf}, {prepared}]) => {
        console.log(JSON.stringify(sentences.map((given) => {
            const sentence = prepared(given, "en");
            const ranking = given.ranking.map((candidate) => ({candidate, index: candidate.index}));
            const found = doubtOf(sentence, {best: ranking[0], ranking});
            const text = (part) => part.words ?? part;
            return found && [found.said.map(text).join(""), found.other];
        })));
    });
"""

_SAW = "(S (NP (PRP I)) (VP (VBD saw) {}))"
_MAN, _WITH = "(NP (DT the) (NN man))", "(PP (IN with) (NP (NNS glasses)))"
TO_THE_MAN = _SAW.format(f"(NP {_MAN} {_WITH})")
TO_THE_VERB = _SAW.format(f"{_MAN} {_WITH}")
ICE_CREAM = "(S (NP (PRP We)) (VP (VBD ate) ({} (NN ice) (NN cream))))"
DOGS = "(S (NP (PRP We)) (VP (VBD fed) {}))"
HER_DOG = DOGS.format("(NP (PRP$ her) (NN dog) (NNS biscuits))")
TWO_NPS = DOGS.format("(NP (PRP her)) (NP (NN dog) (NNS biscuits))")
LONG = "(S (NP (NP {}) (PP (IN of) (NP (NNS words)))) (VP (VBD came)))".format("(NN a) " * 12)
FLAT_LONG = "(S (NP {}) (PP (IN of) (NP (NNS words))) (VP (VBD came)))".format("(NN a) " * 12)
THAT = "(NP (NP (NN proof)) (SBAR (WHNP (WDT that)) (S (VP (VBZ ends)) {})) {})"


class Case(NamedTuple):
    doubtful: tuple[int, int, str]
    probability: float
    trees: tuple[str, ...]
    said: tuple[str, int | None] | None
    others: tuple[tuple[tuple[int, int, str], float], ...] = ()


CASES = {
    # The bracket leaves 0.2, and the one other tree gets all of that.
    "goes with": Case(
        (2, 6, "NP"),
        0.8,
        (TO_THE_MAN, TO_THE_VERB),
        ("with glasses goes with the man: 80 %, with saw: 20 %.", 1),
    ),
    "in every tree": Case(
        (1, 6, "VP"),
        0.25,
        (TO_THE_VERB, TO_THE_MAN),
        ("saw the man with glasses is a verb phrase: 25 %.", None),
    ),
    "two labels": Case(
        (2, 4, "NP"),
        0.783,
        (ICE_CREAM.format("NP"), ICE_CREAM.format("S"), ICE_CREAM.format("NX")),
        ("ice cream is a noun phrase: 78 %, a clause: 13 %.", 1),
        (((2, 4, "S"), 0.125), ((2, 4, "NX"), 0.01)),
    ),
    "no part": Case(
        (2, 5, "NP"), 0.96, (HER_DOG, TWO_NPS), ("her dog biscuits is a noun phrase: 96 %.", 1)
    ),
    "in no other tree": Case(
        (2, 5, "NP"), 0.5, (HER_DOG,), ("her dog biscuits is a noun phrase: 50 %.", None)
    ),
    "sure": Case((2, 5, "NP"), 0.991, (HER_DOG, TWO_NPS), None),
    "many words": Case(
        (0, 14, "NP"),
        0.005,
        (LONG, FLAT_LONG),
        ("a a a a … a a of words is a noun phrase: less than 1 %.", 1),
    ),
    "behind that": Case(
        (1, 3, "SBAR"),
        0.6,
        (THAT.format("", ""), THAT.format("", "").replace("SBAR", "X")),
        ("that ends is a subordinate clause: 60 %, X: less than 1 %.", 1),
    ),
}


def ranking_of(case: Case) -> Ranking:
    """Return trees in order, the first twice as probable as the second, and so on."""
    probabilities: dict[tuple[int, int, str], float] = {}
    trees = [Tree.from_string(tree) for tree in case.trees]
    for start, end, label, _ in Certainty({}, 0.0).of(linearize(trees[0])):
        probabilities[start, end, label] = 1.0
    probabilities |= {case.doubtful: case.probability, **dict(case.others)}
    candidates = [
        Candidate(index, text, tuple(linearize(tree)), -math.log(2) * index, 1)
        for index, (text, tree) in enumerate(zip(case.trees, trees, strict=True))
    ]
    scores = [Scored(1.0 + each.index, 2.0, 3, 0, None) for each in candidates]
    nbest = NBest("x", tuple(candidates), (), 1, certainty=Certainty(probabilities, 0.1))
    return rank(nbest, scores, Weighing())


@pytest.mark.parametrize("name", CASES)
def test_the_doubt_about_a_tree(name: str) -> None:
    doubt = ranking_of(CASES[name]).doubt
    assert (tuple(doubt) if doubt else None) == CASES[name].said


def test_without_probabilities_nothing_is_in_doubt() -> None:
    nbest = NBest("x", (Candidate(0, HER_DOG, ("x",), 0.0, 1),), (), 1)
    assert rank(nbest, [Scored(1.0, 2.0, 3, 0, None)], Weighing()).doubt is None
    assert Ranking("x", (), ()).doubt is None


@pytest.mark.skipif(not shutil.which("node"), reason="this machine has no Node.js")
def test_the_page_says_the_same(tmp_path: Path) -> None:
    for source in PAGE.glob("*.js"):
        shutil.copy(source, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    sentences: list[Any] = []
    for case in CASES.values():
        ranking = ranking_of(case)
        assert ranking.certainty
        sentence = ranking.to_dict() | {"brackets": ranking.certainty.rows()}
        for row in sentence["ranking"]:
            tokens = [*linearize(Tree.from_string(row["tree"])), "<eos>"]
            row["token_scores"] = [(token, -1.0) for token in tokens]
        sentences.append(sentence)
    files = [(tmp_path / name).as_uri() for name in ("doubt.js", "answer.js")]
    given = json.dumps([*files, sentences])
    done = subprocess.run(["node", "-e", PROGRAM], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = [None if case.said is None else list(case.said) for case in CASES.values()]
    assert json.loads(done.stdout) == said
