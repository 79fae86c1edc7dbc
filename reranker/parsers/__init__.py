"""From sentences to n-best lists: parsers, each in a file of its own, behind one protocol
(parser.py)."""
