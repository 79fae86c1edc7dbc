"""Our own encoder-decoder parser (Suzuki et al. 2018; reranker.models.encoder_decoder), with a
checkpoint that the user has trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reranker.checkpoints.ensemble_file import hashes, named_models
from reranker.checkpoints.members import devices
from reranker.errors import CheckpointError, InputError
from reranker.nbest import NBest
from reranker.nbest.data import Candidate, RawCandidate, RawList, Sentence
from reranker.nbest.faithful import ReadingRules, accept
from reranker.nbest.notation import Notation
from reranker.parsers.in_process import InProcessParser
from reranker.parsers.lists import NAME, usable
from reranker.parsers.parser import CANDIDATES, ParserSettings
from reranker.plugins.generation.beam_search import BeamSettings, Hypothesis, generate
from reranker.plugins.generation.encoder_decoder_file import load_generators

_GENERATED = ReadingRules(NAME, Notation.LINEARIZED, repair=True, restore=True)

# Trees are ordered by the mean log-probability of their tokens, as `rerank generate` does.
_LENGTH_POWER = 1.0


class EncdecParser(InProcessParser):
    """A parser that returns a beam of ``settings.candidates`` trees for each sentence, by
    log-probability; broken ones are repaired. ``settings.model`` is a checkpoint of `rerank train`,
    or a folder or pattern of several with one vocabulary, whose probabilities are averaged."""

    def __init__(self, settings: ParserSettings) -> None:
        """Raise InputError without a checkpoint of a parser."""
        if not settings.model:
            raise InputError(
                "the parser encdec needs --parser-model FILE.pt, a checkpoint of your own: `rerank "
                "train --config encoder-decoder/parser` (docs/training.md)"
            )
        paths = named_models(settings.model).paths
        self._device = str(devices("auto")[0])
        try:
            self._members = load_generators(paths, self._device)
        except CheckpointError as error:
            raise InputError(str(error)) from error
        if self._members[0].vocabulary.task != "parsing":
            raise InputError(f"{paths[0]}: not a parser: it turns text into text")
        self._beam = BeamSettings(settings.candidates or CANDIDATES, _LENGTH_POWER)
        super().__init__("encdec", self._lists_of)

    @staticmethod
    def model_identity(settings: ParserSettings) -> str:
        """Return the SHA-256 of the models that are named. Raises InputError if there are none."""
        return hashes(settings.model) if settings.model else ""

    def _lists_of(self, sentences: Sequence[Sentence]) -> list[NBest | str]:
        words = [sentence.words for sentence in sentences]
        lists = generate(self._members, words, self._beam, self._device)
        return list(map(_list, lists, sentences))


def _list(generated: Sequence[Hypothesis[str]], sentence: Sentence) -> NBest | str:
    raw = [RawCandidate(1, " ".join(each.tokens), each.log_probability) for each in generated]
    nbest = accept(RawList("0", 1, raw), _GENERATED, sentence)
    return usable(replace(nbest, candidates=tuple(map(_with_root, nbest.candidates))))


def _with_root(candidate: Candidate) -> Candidate:
    """Return the candidate with the root that other parsers' trees have, which the models do not
    generate."""
    has_root = candidate.text.startswith("(TOP ")  # several constituents side by side
    return candidate if has_root else replace(candidate, text=f"(TOP {candidate.text})")
