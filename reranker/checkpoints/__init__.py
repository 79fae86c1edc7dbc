"""Trained models in files: settings, vocabulary and weights; ensembles; devices."""
