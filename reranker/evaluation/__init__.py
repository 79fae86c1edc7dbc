"""EVALB's figures, and whether a difference between two of them is due to chance."""
