"""Models in files: settings, vocabulary and weights, and ensembles of them."""
