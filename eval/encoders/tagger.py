"""Retrain only the tagger of a span model.

A tagger is one linear layer on what the model reads. Its scores of trees, which depend on the other
weights, stay the same to the last bit. That is how a model learns other conventions of tags:

    rerank convert genia/ --to trees --clean --newer-tags --out genia.mrg
    python eval/encoders/tagger.py ckpt/spans.pt --train gum.mrg gum.mrg genia.mrg --dev dev.mrg \\
        --never SU CODE --out spans.pt

A file that is named several times counts as often. Prints how many of the dev files' words get the
right tag before and after. It takes a millisecond per word, most of it to read the sentences.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from reranker.checkpoints.archive import read_archive, write_atomically
from reranker.checkpoints.model_file import content_sha256, stored_weights
from reranker.checkpoints.span_file import SpanCheckpoint, load_span_model
from reranker.errors import InputError
from reranker.files.output import output_path
from reranker.files.table import aligned
from reranker.models.batch import PADDING
from reranker.plugins.training.spans.sentences import Lexicon, labelled, same_length
from reranker.process.flags import positive, reporting_errors, script_parser
from reranker.trees.linearize import linearize_tagged
from reranker.trees.treebank import read_treebank, treebank_files

_WORDS, _SPANS = 1_000, 40_000  # read at once
_BATCH = 4_000  # words
EPOCHS, _RATE = 6, 1e-3
_NEVER = -100.0  # nats


class Words(NamedTuple):
    """N words: the model's reading of each, and its tag."""

    read: Tensor  # [N, 2 H], float16
    tags: Tensor  # [N], PADDING for those that are not to be learned
    weights: Tensor  # [N], how often each counts


class Tagger(nn.Module):
    """The tagger's part of a span model's weights."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.tag_output, self.tag_bias = nn.Parameter(weight.clone()), nn.Parameter(bias.clone())

    def forward(self, read: Tensor) -> Tensor:
        """Return the logits of all tags, [N, T]."""
        return functional.linear(read.float(), self.tag_output, self.tag_bias)


@reporting_errors("tagger")
def main() -> int:
    parser = script_parser("tagger.py", __doc__)
    add = parser.add_argument
    add("model", type=Path, help="a span model with tags")
    add("--train", required=True, nargs="+", metavar="FILE", help="trees to learn from")
    add("--dev", required=True, nargs="+", metavar="FILE", help="trees to measure with")
    text = "tags that are not learned and never given, such as those of mark-up"
    add("--never", nargs="+", default=[], metavar="TAG", help=text)
    add("--epochs", type=positive, default=EPOCHS, metavar="N", help="default: %(default)s")
    add("--seed", type=int, default=1, metavar="N", help="default: %(default)s")
    add("--out", type=Path, required=True, metavar="FILE.pt", help="where to write the model")
    arguments = parser.parse_args()
    counts = Counter(treebank_files(arguments.train))
    dev_files = treebank_files(arguments.dev)
    out = output_path(arguments.out, [arguments.model, *counts, *dev_files])
    assert out is not None
    model = load_span_model(arguments.model)
    if missing := {*arguments.never} - {*model.vocabulary.tags}:
        raise InputError(f"--never {min(missing)}: {arguments.model} has no such tag")
    parts = [read_words(model, name, arguments.never, n) for name, n in counts.items()]
    train = Words(*map(torch.cat, zip(*parts, strict=True)))
    before = Tagger(model.model.tag_output, model.model.tag_bias)
    after = trained(before, train, arguments.epochs, arguments.seed)
    rows: list[tuple[str, ...]] = [("", "words", "before", "after")]
    for name in dev_files:
        dev = read_words(model, name, arguments.never)
        shares = (f"{100 * accuracy(each, dev):.2f}" for each in (before, after))
        rows.append((name, f"{len(dev.tags):,}", *shares))
    print(aligned(rows))
    write(arguments.model, after, {"never": arguments.never, "words": len(train.tags)}, out)
    return 0


def read_words(
    model: SpanCheckpoint, name: str, never: Sequence[str] = (), weight: int = 1
) -> Words:
    """Read the sentences of a treebank as in scoring, but several of the same length at once.
    Raises InputError if none of its tags can be learned."""
    trees = map(linearize_tagged, read_treebank([name]))
    lexicon = Lexicon()
    sentences = [labelled(model.vocabulary, lexicon, tree) for tree in trees if tree.words]
    table = lexicon.table(model.vocabulary)
    read, tags = [], []
    for numbers in same_length(range(len(sentences)), sentences, _WORDS, _SPANS):
        batch = [sentences[number] for number in numbers]
        with torch.inference_mode():
            data = model.model.read(*table.read([each.words for each in batch]))
        read.append(data[1:-1].transpose(0, 1).flatten(0, 1).half())
        tags.append(torch.tensor([each.tags for each in batch]).flatten())
    known = torch.cat([torch.empty(0, dtype=torch.int64), *tags])
    for tag in never:
        known[known == model.vocabulary.tag(tag)] = PADDING
    if not (known != PADDING).any():
        raise InputError(f"{name}: it has no tag that {model.name} knows")
    return Words(torch.cat(read).clone(), known, torch.full(known.shape, float(weight)))


def trained(tagger: Tagger, words: Words, epochs: int, seed: int) -> Tagger:
    """Return a tagger that has learned from ``words``, starting from ``tagger``. Tags that no word
    has are never given."""
    torch.manual_seed(seed)
    after = Tagger(tagger.tag_output, tagger.tag_bias)
    known = (words.tags != PADDING).nonzero().flatten()
    batches = -(-len(known) // _BATCH)
    optimiser = torch.optim.AdamW(after.parameters(), _RATE, weight_decay=0.0)
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, epochs * batches)
    for _ in range(epochs):
        for rows in torch.split(known[torch.randperm(len(known))], _BATCH):
            loss = functional.cross_entropy(
                after(words.read[rows]), words.tags[rows], reduction="none"
            )
            optimiser.zero_grad()
            torch.autograd.backward((loss * words.weights[rows]).sum() / words.weights[rows].sum())
            optimiser.step()
            decay.step()
    unseen = torch.bincount(words.tags[known], minlength=len(after.tag_bias)) == 0
    with torch.no_grad():
        after.tag_output[unseen], after.tag_bias[unseen] = 0.0, _NEVER
    return after


def accuracy(tagger: Tagger, words: Words) -> float:
    """Return the share of the words with a tag to be learned that get it."""
    known = words.tags != PADDING
    with torch.inference_mode():
        found = torch.cat(
            [tagger(some).argmax(1) for some in torch.split(words.read[known], _BATCH)]
        )
    return float((found == words.tags[known]).double().mean())


def write(path: Path, tagger: Tagger, information: dict[str, Any], out: Path) -> None:
    """Write the checkpoint ``path`` with the weights of ``tagger``; all others stay as stored."""
    archive = read_archive(path)
    content = archive.content
    del content["sha256"]
    stored = stored_weights(tagger, torch.int8)
    content["weights"] = {name: stored.get(name, each) for name, each in content["weights"].items()}
    information = {"tagger": {"from": archive.sha256, **information}}
    content["information"] = {**content["information"], **information}
    write_atomically(out, {**content, "sha256": content_sha256(content)})


if __name__ == "__main__":
    sys.exit(main())
