"""One file for each family of n-best formats."""
