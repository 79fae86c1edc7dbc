"""``rerank generate``: the best outputs of encoder-decoders, by beam search."""
