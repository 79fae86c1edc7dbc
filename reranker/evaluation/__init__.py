"""EVALB's figures and whether a difference of two of them is chance."""
