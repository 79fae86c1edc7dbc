"""The speed of scoring candidates: the authors' code, the obvious way, and each stage of ours.

    python -m benchmarks.scoring --lists LISTS [--authors CHECKOUT] [--paper-size]

``--help`` says the rest, docs/research/performance.md how to read the tables.
"""
