"""Rankings -> text: the forms in which the best tree of a sentence is given away."""
