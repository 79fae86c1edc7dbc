"""The page's slider orders candidates as ``reranker.ranking`` does. Needs Node.js."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reranker.nbest import Candidate, NBest
from reranker.ranking import Scored, Weighing, rank

RANKING = Path(__file__).parents[3] / "service" / "page" / "ranking.js"
SCRIPT = """
const [source, lists, weights, margins] = JSON.parse(require("fs").readFileSync(0));
import("data:text/javascript," + encodeURIComponent(source)).then(({rank}) => {
    console.log(JSON.stringify(lists.map((candidates, place) => {
        const {ranking, rejected, margin} = rank(
            {candidates, rejected: [], margin: margins[place]}, weights[place]);
        return {
            ranking: ranking.map((ranked) => [ranked.index, ranked.score, ranked.duplicateOf]),
            rejected: rejected.map(({index, code, message}) => [index, code, message]),
            margin,
        };
    })));
});
"""


@pytest.mark.skipif(not shutil.which("node"), reason="this machine has no Node.js")
def test_ranking_in_the_page_is_ranking_in_python_to_the_last_bit() -> None:
    # Coarse scores, so that ties and halves of the last decimal are frequent.
    draw = random.Random(5)
    lists: list[Any] = []
    weights: list[float] = []
    margins: list[float | None] = []
    wanted: list[Any] = []
    for _ in range(400):
        scores: list[Scored] = []
        candidates: list[Candidate] = []
        for index in range(draw.randint(1, 8)):
            firsts = [one.index for one in candidates if scores[one.index].duplicate_of is None]
            repeats = draw.choice(firsts) if firsts and draw.random() < 0.2 else None
            nll = draw.choice([draw.randint(0, 9) / 32, round(draw.uniform(1, 300), 4)])
            nll = nll if repeats is None else scores[repeats].nll
            spans = draw.randint(0, 12) / 2 if repeats is None else scores[repeats].span_nll
            scores.append(Scored(nll, 2.0, 3, 0, repeats, span_nll=spans))
            huge = draw.choice([-1.7e308, 1.7e308])
            plain = [-draw.randint(0, 9) / 16, -draw.uniform(0, 300)]
            parser = draw.choice([None, *plain, *plain, huge])
            candidates.append(Candidate(index, "(S w)", ("(S", "w", ")S"), parser, index + 1))
        weight = draw.choice([1.0, 0.0, 0.5, draw.randint(0, 100) / 100])
        shortlist = draw.choice([math.inf, 3.0, 0.5])
        nbest = NBest("x", tuple(candidates), (), 1)
        ranking = rank(nbest, scores, Weighing(weight, shortlist=shortlist))
        at_one = {one.index: one for one in rank(nbest, scores, Weighing(shortlist=shortlist))}
        wanted.append(
            {
                "ranking": [[one.index, one.score, one.duplicate_of] for one in ranking.ranking],
                "rejected": [[one.index, one.code, one.message] for one in ranking.rejected],
                "margin": ranking.margin,
            }
        )
        lists.append(
            [
                {"index": one.index, "nll": s.nll, "parser_score": one.parser_score}
                | {"duplicate_of": s.duplicate_of}
                # Rounded by the server, whose halves of the last decimal are lost below weight 1.
                | ({"relevance_score": at_one[one.index].score} if weight == 1 else {})
                for one, s in zip(candidates, scores, strict=True)
            ]
        )
        weights.append(weight)
        margins.append(ranking.margin if weight == 1 else None)
    given = json.dumps([RANKING.read_text(encoding="utf-8"), lists, weights, margins])
    command = ["node", "-e", SCRIPT]
    done = subprocess.run(command, input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == wanted
