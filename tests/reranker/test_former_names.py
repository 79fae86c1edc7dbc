"""Names of modules that moved into plug-ins: programs written before find them."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("ray", "map_lists"),
        ("ray.autoscaling", "WORK"),
        ("integrations.nltk_parser", "RerankingParser"),
        ("integrations.stanza_document", "Document"),
    ],
)
def test_former_names(name: str, attribute: str) -> None:
    if name.startswith("ray"):
        pytest.importorskip("ray")
    former = import_module(f"reranker.{name}")
    new = name.replace("ray", "cluster").replace("integrations", "pipelines")
    now = import_module(f"reranker.plugins.{new}")
    assert former.__file__ == now.__file__
    assert hasattr(former, attribute)
