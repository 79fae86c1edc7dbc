"""Child processes that score, read and parse, and the one protocol that they share."""
