"""EVALB's figures, and the significance of differences between them."""
