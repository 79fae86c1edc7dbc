"""Parsing and reranking within other libraries' pipelines, one file for each."""

from reranker.registry import Features

FEATURES: Features = {}
