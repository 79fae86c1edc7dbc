"""Log-probabilities of candidates under an ensemble."""
