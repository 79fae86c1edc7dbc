"""Parsing and reranking within other libraries' pipelines, one file for each."""
