"""``python -m reranker``, and ``torchrun -m reranker``: the same as ``rerank``."""

from reranker.commands.main import program

if __name__ == "__main__":
    program()
