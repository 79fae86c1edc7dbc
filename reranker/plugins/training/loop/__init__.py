"""The common part of all kinds of runs: settings, state, recipes, steps, the log."""
