from __future__ import annotations

import random

import numpy as np

from reranker.scoring.trie import Trie


def test_by_hand() -> None:
    # After <eos> 0: 5, then 6 or 7; both 5-6 sequences go on alike up to 8.
    trie = Trie([[5, 6, 8, 0], [5, 6, 8, 9, 0], [5, 7, 0]], eos=0)
    # Edges: 5 | 6 7 | 8 after 5-6, 0 after 5-7 | 0 9 after 5-6-8 | 0
    assert trie.edge_targets.tolist() == [5, 6, 7, 8, 0, 0, 9, 0]
    # Rows: nothing | 5 | 5-6, 5-7 | 5-6-8 | 5-6-8-9
    assert trie.edge_rows.tolist() == [0, 1, 1, 2, 3, 4, 4, 5]
    assert [level.tokens.tolist() for level in trie.levels] == [[0], [5], [6, 7], [8], [9]]
    assert [level.parents.tolist() for level in trie.levels] == [[0], [0], [0, 0], [0], [0]]
    assert [path.tolist() for path in trie.paths] == [[0, 1, 3, 5], [0, 1, 3, 6, 7], [0, 2, 4]]
    assert (trie.edges, trie.rows) == (8, 6)
    values = np.array([1.0, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7])
    assert trie.totals(values).tolist() == [101_011, 11_001_011, 10_101]


def test_nothing_and_almost_nothing() -> None:
    assert (Trie([], eos=0).paths, Trie([], eos=0).edges) == ([], 0)
    trie = Trie([[], [0], []], eos=0)
    assert [path.tolist() for path in trie.paths] == [[], [0], []]


def test_every_path_spells_its_sequence_and_no_prefix_is_there_twice() -> None:
    generator = random.Random(2)
    sequences = [
        [*(generator.randrange(1, 4) for _ in range(generator.randrange(7))), 0] for _ in range(200)
    ]
    trie = Trie(sequences, eos=0)
    assert [trie.edge_targets[path].tolist() for path in trie.paths] == sequences
    prefixes = {tuple(ids[:end]) for ids in sequences for end in range(1, len(ids) + 1)}
    assert trie.edges == len(prefixes)
    assert trie.rows == len({prefix[:-1] for prefix in prefixes})
