"""Trained models in files: settings, vocabulary and weights; ensembles; devices."""

MOST_BYTES = 1 << 36
"""The largest checkpoint: a larger file is a hole, not weights."""
