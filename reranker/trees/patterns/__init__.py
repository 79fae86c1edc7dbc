"""Patterns of trees in the language of tgrep2 and tregex."""
