"""``rerank show``: trees drawn on a terminal and as pictures."""
