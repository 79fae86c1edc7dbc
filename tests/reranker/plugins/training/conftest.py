"""Fixtures shared by the tests of training."""

from tests.reranker.plots import without_plots as without_plots
