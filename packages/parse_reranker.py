"""The distribution's name is not its module's."""

raise ImportError("parse-reranker is imported as reranker: import reranker", name="parse_reranker")
