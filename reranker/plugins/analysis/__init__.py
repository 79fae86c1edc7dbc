"""``rerank analyse``: the papers' tables and figures about what models do."""
