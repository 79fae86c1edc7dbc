"""Trees drawn in a terminal and as SVG, with brackets marked as changed, right or wrong."""
