"""A parser: for each sentence a flat tree and one with a noun phrase at its start, in the format
that is named. Some words make it fail."""

import sys
import time

FORM = sys.argv[1] if len(sys.argv) > 1 else "berkeley"

for number, line in enumerate(sys.stdin):
    words = line.split()
    if "crash" in words:
        sys.exit("cannot parse: crash")
    if "hang" in words:
        time.sleep(600)
    if "other" in words:
        words[0] = "something"
    if "lose" in words:
        continue
    if FORM == "rnng":
        for tree in (
            f"(S {line.strip()})",
            f"(S (NP {words[0]} {words[1]}) {' '.join(words[2:])})",
        ):
            print(f"{number} ||| -10.5 ||| {tree}")
    elif FORM == "opennmt":
        rest = "XX " * (len(words) - 2)
        print(f"(S XX XX {rest})S\n(S (NP XX XX )NP {rest})S")
    else:
        nodes = [f"(NN {word})" for word in words]
        print(f"-10.5 (S1 (S {' '.join(nodes)}))")
        print(f"-10.5 (S1 (S (NP {' '.join(nodes[:2])}) {' '.join(nodes[2:])}))\n")
