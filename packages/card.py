"""The card of ckpt/ in the Hugging Face hub's format, on standard output: `make hub`.

The hub's data come from about.toml, the text is ckpt/README.md, its links those of the repository.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from huggingface_hub import EvalResult, ModelCardData

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Print the card."""
    about = tomllib.loads((ROOT / "ckpt" / "about.toml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = f"{project['urls']['Source']}/blob/main"
    text = (ROOT / "ckpt" / "README.md").read_text(encoding="utf-8")
    text = text.replace("](../", f"]({source}/")
    # What is beside the card on the hub is linked as it is.
    text = re.sub(r"\]\((?!https?:|#|[\w.-]+\.toml\))", f"]({source}/ckpt/", text)
    data = ModelCardData(
        language="en",
        license="other",
        license_name="parse-reranker-models",
        license_link=f"{source}/ckpt/README.md#terms",
        library_name="parse-reranker",
        tags=["constituency-parsing", "parsing", "reranking", "treebank"],
        model_name=f"parse-reranker {about['name']}",
        eval_results=[
            EvalResult(
                task_type="token-classification",
                task_name="constituency parsing",
                dataset_type=re.sub(r"\W+", "-", score["set"].lower()),
                dataset_name=score["set"],
                metric_type="f1",
                metric_name="EVALB F1",
                metric_value=score["reranked"],
            )
            for score in about["f1"]
        ],
    )
    print(f"---\n{data.to_yaml()}\n---\n\n{text}", end="")


if __name__ == "__main__":
    main()
