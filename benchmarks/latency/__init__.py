"""How soon answers come: start-up, the first sentence, one list, one long tree; and against bulk.

    python -m benchmarks.latency [--against CHECKOUT] [--quick]

``--help`` says the rest, docs/performance.md how to read the tables.
"""
