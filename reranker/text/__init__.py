"""Plain text: sentences and words for parsers; running text and passages for language models."""
