"""The ``rerank`` command: a file for each subcommand."""
