"""Many machines, with Ray: ``rerank cluster`` and ``map_lists`` for files and data sets, ``app``
for the service (docs/cluster.md). Needs ``pip install 'parse-reranker[ray]'``."""
