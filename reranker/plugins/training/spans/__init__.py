"""The training of span models."""
