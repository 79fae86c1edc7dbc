"""What all kinds of runs share: settings, state, recipes, steps, the log."""
