"""Plain text for language models: running text with articles, and passages. No trees."""
