"""The formats in which the best tree of a sentence is written."""
