"""eval/lists/domains.py, worked by hand on two sets of one sentence."""

from __future__ import annotations

import json
from pathlib import Path

from tests.eval.scripts import run
from tests.eval.test_shortlist import DEEP, FLAT, entry


def test_a_table_by_hand(tmp_path: Path) -> None:
    """The span model prefers the first tree of the first set by 1 nat, the language model the
    second, by 4: from a weight of 0.3 up it wins, if the shortlist has it, and is right. In the
    second set they differ by 1 and 2, and the first tree is right: from a weight of 0.7 up the
    wrong one wins. So the second set chooses the least weight at which the first gains."""
    sets = {
        "one": ([entry(0, FLAT, 9.0, 1.0), entry(1, DEEP, 5.0, 2.0)], DEEP),
        "two": ([entry(0, FLAT, 9.0, 1.0), entry(1, DEEP, 7.0, 2.0)], FLAT),
    }
    names = []
    for name, (entries, gold) in sets.items():
        ranked, trees = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.mrg"
        ranked.write_text(json.dumps({"ranking": entries}) + "\n")
        trees.write_text(f"{gold}\n")
        names.append(f"{ranked}={trees}")
    done = run("lists/domains.py", *names, "--now", "1", "3")
    heads, *rows = (line.split() for line in done.stdout.splitlines())
    assert heads == ["set", "first", "tree", "weight", "nats", "gain"]
    # Of gold's S and VP, FLAT has S: 66.67; of gold's S, DEEP has one of two: 66.67, too.
    assert rows[0][1:] == ["66.67", "0", "1", "+0.00"]  # the other set is best left alone
    assert rows[1][1:] == ["100.00", "0.3", "1", "+0.00"]
    assert rows[2] == ["mean", "+0.00"]
    assert rows[3] == ["all:", "+33.33", "+0.00", "0.3", "1", "+16.67"]
    assert rows[4] == ["all:", "+33.33", "-33.33", "1", "3", "+0.00"]
