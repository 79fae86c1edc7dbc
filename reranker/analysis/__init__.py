"""``rerank analyse``: what models do, in the papers' tables and figures."""
