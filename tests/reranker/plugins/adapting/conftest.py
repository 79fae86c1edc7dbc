"""Fixtures shared by the tests of adapting."""

from tests.reranker.plots import without_plots as without_plots
