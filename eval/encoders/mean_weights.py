"""Write the mean of the weights of span models that differ in nothing but their seeds.

Models trained on from the same weights can be averaged (Wortsman et al. 2022, *Model soups*): the
mean costs no more to run than one of them, and its trees are usually better than those of any one.
The mean gets a temperature of its own, fitted to the dev trees.

    python eval/encoders/mean_weights.py 1.pt 2.pt 3.pt --dev dev.mrg --out spans.pt

So can a model and the same model after further training: a mean between them, with ``--shares``,
has learned the new and keeps more of the old (Wortsman et al. 2022, *Robust fine-tuning of
zero-shot models*).

    python eval/encoders/mean_weights.py after.pt before.pt --shares 0.6 0.4 --dev dev.mrg \\
        --out spans.pt
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from reranker.checkpoints.span_file import SpanCheckpoint, load_span_model, save_span_model
from reranker.errors import InputError
from reranker.files.output import output_path
from reranker.plugins.training.spans.sentences import Lexicon, labelled
from reranker.plugins.training.spans.temperature import fitted_temperature
from reranker.process.flags import number_from, reporting_errors, script_parser
from reranker.trees.linearize import linearize_tagged
from reranker.trees.treebank import read_treebank, treebank_files


@reporting_errors("mean_weights")
def main() -> int:
    parser = script_parser("mean_weights.py", __doc__)
    parser.add_argument("models", type=Path, nargs="+", help="span models of one vocabulary")
    text = "the share of each model, which together are 1 (default: equal shares)"
    parser.add_argument("--shares", type=number_from(0, 1), nargs="+", metavar="SHARE", help=text)
    parser.add_argument("--dev", required=True, nargs="+", help="trees to fit the temperature to")
    parser.add_argument("--out", type=Path, required=True, help="where to write the mean")
    arguments = parser.parse_args()
    out = output_path(arguments.out, [*arguments.models, *treebank_files(arguments.dev)])
    assert out is not None
    count = len(arguments.models)
    shares = arguments.shares or [1 / count] * count
    if len(shares) != count or not math.isclose(sum(shares), 1):
        raise InputError(f"--shares must be {count} numbers whose sum is 1, one for each model")
    models = [*map(load_span_model, arguments.models)]
    mean = averaged(arguments.models, models, shares)
    trees = map(linearize_tagged, read_treebank(arguments.dev))
    lexicon = Lexicon()
    dev = [labelled(mean.vocabulary, lexicon, tree) for tree in trees if tree.words]
    information = {
        **mean.information,
        "mean_of": [model.sha256 for model in models],
        "shares": shares,
        "temperature": fitted_temperature(mean.model, dev, lexicon.table(mean.vocabulary)),
    }
    information.pop("dev_perplexity", None)  # it is the first one's
    save_span_model(out, mean.model, mean.vocabulary, information, torch.int8)
    return 0


def averaged(
    paths: Sequence[Path], models: Sequence[SpanCheckpoint], shares: Sequence[float]
) -> SpanCheckpoint:
    """Return the first model with the weighted mean of the weights of all. Raises InputError if
    another model has other words, pieces, labels, tags or sizes."""
    first, *others = models
    for path, other in zip(paths[1:], others, strict=True):
        if _known(other) != _known(first):
            raise InputError(f"{path}: it does not have the words, labels and sizes of {paths[0]}")
    weights = [dict(model.model.named_parameters()) for model in models]
    with torch.no_grad():
        for name, weight in first.model.named_parameters():
            parts = (share * each[name] for share, each in zip(shares, weights, strict=True))
            weight.copy_(torch.stack([*parts]).sum(0))
    return first


def _known(model: SpanCheckpoint) -> tuple[object, ...]:
    vocabulary = model.vocabulary
    pieces = vocabulary.pieces and vocabulary.pieces.pieces
    names = vocabulary.words, vocabulary.vector_words, vocabulary.labels, vocabulary.tags
    return (*names, pieces, model.model.config)


if __name__ == "__main__":
    sys.exit(main())
