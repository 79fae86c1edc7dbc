"""Fixtures shared by the tests of generation."""

from tests.reranker.plots import without_plots as without_plots
