"""The weights of what the span model says, fitted by maximum likelihood to telephone talk: 4,846
words of MASC and 500 sentences of GUM, in lower case, without punctuation. Figures:
docs/research/lab-notes.md."""

from __future__ import annotations

# Of the log-probability that the words are a clause or another sentence (a fragment, an
# interjection), and that they are a clause.
SENTENCE, CLAUSE = 0.123, 0.170
ANY = 0.65  # of any sentence
BONUS = 0.75  # more, where ends are chosen: without it they are surer, but half are missed

# Of the probability of a tag for the word before an end, and for the word behind it.
TAGS = {
    ":": (0.28, -0.21), "CC": (-2.01, 2.19), "CD": (1.28, 2.03), "DT": (0.21, 0.07),
    "EX": (0.08, -0.18), "FW": (1.48, 1.28), "IN": (-0.42, -0.24), "JJ": (1.15, 1.22),
    "JJR": (0.2, -0.24), "JJS": (-0.2, -0.08), "MD": (0.44, -0.38), "NN": (0.44, 0.31),
    "NNP": (0.49, 0.2), "NNPS": (1.46, -0.1), "NNS": (0.31, 0.18), "PDT": (-0.38, -0.53),
    "POS": (0.22, -0.05), "PRP": (0.09, -0.27), "PRP$": (-0.11, -0.65), "RB": (0.11, 0.38),
    "RBR": (0.52, -0.21), "RBS": (-0.06, 0.38), "RP": (0.66, -0.34), "TO": (0.03, -2.16),
    "UH": (-0.61, 1.0), "VB": (0.16, 0.3), "VBD": (-0.88, 0.0), "VBG": (0.07, -1.2),
    "VBN": (-0.35, -0.47), "VBP": (-0.8, -0.48), "VBZ": (-0.71, -1.4), "WDT": (-0.85, 0.11),
    "WP": (-0.7, 0.3), "WRB": (-1.47, -0.63),
}  # fmt: skip
