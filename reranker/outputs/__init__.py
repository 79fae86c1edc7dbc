"""From rankings to text: the formats in which the best tree of a sentence is written."""
