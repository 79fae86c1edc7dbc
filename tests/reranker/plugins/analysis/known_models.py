"""Models whose every weight is known, for tests of ``rerank analyse``: what they predict, which
softmaxes they mix and where they look can be told without computing anything."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.models import AwdLstmDoc, Config, LanguageModel
from reranker.models.attention import Attention, AttentionConfig
from reranker.models.layer import LstmLayer
from reranker.models.recurrent_memory import RecurrentMemory, RecurrentMemoryConfig
from reranker.plugins.analysis.readings import LinearTree, linear_tree
from reranker.trees.tree import Tree

THE_DOG = "(S1 (NP (DT The) (NN dog)))"
THE_DOG_BARKS = "(S1 (NP (DT The) (NN dog) (VBZ barks)))"
PROBABILITIES = {  # of every model below, whatever it has read
    "(NP": 1 / 4,
    ")NP": 1 / 8, "the": 1 / 8, "<eos>": 1 / 8, "<unk>": 1 / 8,
    "dog": 1 / 16, "barks": 1 / 16, "(<unk>": 1 / 16, ")<unk>": 1 / 16,
}  # fmt: skip
VOCABULARY = Vocabulary(tuple(PROBABILITIES))
_SIZE = 2  # of every layer and of the embedding


def trees(*texts: str) -> list[LinearTree]:
    return [linear_tree(Tree.from_string(text)) for text in texts]


def checkpoint(model: LanguageModel, vocabulary: Vocabulary = VOCABULARY) -> Checkpoint:
    return Checkpoint("model", model.requires_grad_(False).eval(), vocabulary)


def known_softmax() -> Checkpoint:
    """Return an LSTM with one softmax."""
    config = Config(len(VOCABULARY), _SIZE, (_SIZE,), components=())
    return _known(AwdLstmDoc(config))


def known_mixture(pi: Sequence[float], components: tuple[int, int]) -> Checkpoint:
    """Return a model of one layer whose softmaxes, from the embedding and from the layer, always
    have the weights ``pi``."""
    member = _known(AwdLstmDoc(Config(len(VOCABULARY), _SIZE, (_SIZE,), components)))
    assert member.model.mixture_weights is not None
    member.model.mixture_weights.weight.copy_(_scoring(pi))
    return member


def known_memory(attention: Sequence[float]) -> Checkpoint:
    """Return an RM whose attention to the last words, the oldest first, is always ``attention``."""
    config = RecurrentMemoryConfig(
        len(VOCABULARY), embedding_size=_SIZE, hidden_sizes=(_SIZE,), window=len(attention)
    )
    member = _known(RecurrentMemory(config))
    temporal = member.model.get_parameter("reader.temporal")
    temporal.copy_(_scoring(attention))
    return member


def even_attention(window: int) -> Checkpoint:
    """Return an Attention model that attends to all positions alike: its w is zero."""
    config = AttentionConfig(
        len(VOCABULARY), embedding_size=_SIZE, hidden_sizes=(_SIZE,), window=window
    )
    return _known(Attention(config))


def _known(model: LanguageModel) -> Checkpoint:
    """Return a model whose weights are zero but for a bias that gives every symbol its probability,
    and a bias that makes the layer's outputs always tanh(1): it writes 1 into emptied cells."""
    member = checkpoint(model)
    for parameter in model.parameters():
        parameter.zero_()
    model.decoder_bias.copy_(torch.tensor([math.log(p) for p in PROBABILITIES.values()]))
    (layer,) = model.layers
    assert isinstance(layer, LstmLayer)
    into, keep, new, out = layer.bias.chunk(4)
    keep.fill_(-100)
    for gate in (into, new, out):
        gate.fill_(100)
    return member


def _scoring(probabilities: Sequence[float]) -> Tensor:
    """Return a matrix whose products with the layer's outputs are the probabilities' logarithms."""
    matrix = torch.zeros(len(probabilities), _SIZE)
    matrix[:, 0] = torch.tensor([math.log(p) for p in probabilities]) / math.tanh(1)
    return matrix
