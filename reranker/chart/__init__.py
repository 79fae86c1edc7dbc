"""A span model's scores -> trees: a chart over all spans of a sentence, searched exactly.

A tree is worth the sum, over its constituents, of log P(label) - log P(no constituent). For a span
of the words i to j:

- ``closed[i, j]``: the best constituent: its label, and a sequence of parts inside
- ``sequence[i, j]``: the best sequence of two or more parts without a label of its own
- ``open[i, j]``: the better of the two, with which a longer sequence may begin
- ``part[i, j]``: the last part of a sequence: a constituent, or a single word

::

    sequence[i, j] = max over k of open[i, k] + part[k, j]
    closed[i, j]   = sequence[i, j] + max over labels of gain[i, j, label]
    open[i, j]     = max(sequence[i, j], closed[i, j])

A single word is the sequence of length 1, worth 0; ``part`` is ``open`` there and ``closed``
elsewhere. Since a sequence grows to the right by one part, no tree has two derivations. The tree of
a sentence is ``open[0, n]`` under the root. The k best are found lazily (Huang & Chiang 2005,
algorithm 3), and probabilities by the inside-outside algorithm on the same recursion.
"""
