"""The HTTP service, on top of ``reranker``; nothing imports it."""

from importlib.metadata import version

VERSION = version("parse-reranker")
