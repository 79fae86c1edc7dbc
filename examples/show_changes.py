"""Print where the reranker disagrees with the parser, from ``rerank --output ranked``.

python examples/show_changes.py RANKED.jsonl [HOW_MANY]
"""

from __future__ import annotations

import json
import sys


def main(path: str, how_many: int = 3) -> None:
    """Show the first ``how_many`` sentences whose best tree is not the parser's first."""
    with open(path, encoding="utf-8") as lines:
        sentences = [json.loads(line) for line in lines]
    changed = [sentence for sentence in sentences if sentence["best_index"]]
    print(f"{len(changed)} of {len(sentences)} sentences have another best tree")
    for sentence in changed[:how_many]:
        trees = {entry["index"]: entry["tree"] for entry in sentence["ranking"]}
        print(f"\nsentence {sentence['id']}")
        print(f"  parser    {trees.get(0, '(rejected)')}")
        print(f"  reranked  {trees[sentence['best_index']]}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
