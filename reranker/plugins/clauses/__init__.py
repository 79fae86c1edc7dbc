"""`rerank clauses`: the clauses of texts and trees."""
