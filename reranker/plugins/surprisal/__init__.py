"""Reading a sentence word by word with forward language models of trees: the word-synchronous beam,
and what it says of each word."""
