"""A parser: for each sentence a flat tree and one with a noun phrase at its start, worst first if
asked. Some words make it fail."""

import sys
import time

for line in sys.stdin:
    words = line.split()
    if "crash" in words:
        sys.exit("cannot parse: crash")
    if "hang" in words:
        time.sleep(60)
    nodes = [f"(NN {word})" for word in words]
    if "other" in words:
        nodes[0] = "(NN something)"
    flat = f"(S {' '.join(nodes)})"
    nested = f"(S (NP {' '.join(nodes[:2])}) {' '.join(nodes[2:])})"
    if "lose" not in words:
        for tree in (flat, nested):
            print(-10.5, f"(S1 {tree})")
        print()
