"""The flags that name the models and the output, shared by `rerank`, `rerank parse` and others, and
the way from flags to the loop over sentences."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from reranker import registry
from reranker.checkpoints.ensemble_file import ModelNames, named_models
from reranker.commands.arguments import add_output, add_threads
from reranker.commands.progress import loading
from reranker.errors import InputError
from reranker.files.visible import counted
from reranker.process.flags import positive, weight
from reranker.work.ranking import RankSettings

if TYPE_CHECKING:
    from reranker.parsers.choice import ParserChoice
    from reranker.pipeline import Reranker


class _Outputs(list[str]):
    """The outputs of the core, for ``--help``; those of plug-ins can be chosen, too."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or registry.has("outputs", str(name))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name the models and say what to write, and where."""
    add_output(parser)
    add_threads(parser)
    add_ranking_arguments(parser)


def add_ranking_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags on which answers depend."""
    parser.set_defaults(csv=False, threads=None)  # flags of some commands
    add = parser.add_argument
    text = (
        "checkpoints, a folder of checkpoints, an ensemble.toml of `rerank tune`, or the name of "
        "an installed ensemble (default: as `rerank models` says)"
    )
    add("--models", nargs="+", metavar="FILE", help=text)
    text = "accept only checkpoints with these SHA-256 hashes (the first 8 digits are enough)"
    add("--sha256", nargs="+", default=(), metavar="HASH", help=text)
    outputs = registry.CORE["outputs"]  # plug-ins are not loaded for their help
    names = "; ".join(f"{name}: {entry.help}" for name, entry in outputs.items())
    text = f"{names} (docs/output.md; default: best)"
    add("--output", choices=_Outputs(outputs), default="best", help=text)
    text = "with --output ranked: add every token's log-probability"
    add("--token-scores", action="store_true", help=text)
    text = "score = W * language models + (1 - W) * parser (default: as in ensemble.toml, else 1)"
    add("--lm-weight", type=weight, metavar="W", help=text)
    text = (
        "order by perplexity per word of the sentence, which is the order of total "
        "log-probabilities, or per token of the candidate (default: as in ensemble.toml, else "
        "perplexity)"
    )
    add("--criterion", choices=("perplexity", "token-perplexity"), help=text)
    text = (
        "sum the models' log-probabilities, or average their probabilities token by token, which "
        "needs one vocabulary and one direction (default: sum)"
    )
    add("--combine", choices=("sum", "average"), default="sum", help=text)
    text = "with --output ranked: write only the best K different candidates"
    add("--top", type=positive, metavar="K", help=text)
    text = (
        "cpu, cuda or cuda:0,cuda:1, among which the models are distributed (default: auto, all "
        "GPUs, else the CPU)"
    )
    add("--device", default="auto", metavar="NAMES", help=text)
    text = (
        "exact: 32-bit floating point; fast: 8-bit integers, where model file and processor have "
        "them, which changes scores by about 0.001, at most 0.018 (default: %(default)s)"
    )
    add("--precision", choices=("exact", "fast"), default="fast", help=text)


def settings(
    arguments: argparse.Namespace,
    choice: ParserChoice | None = None,
) -> RankSettings:
    """Return the settings that the flags describe, for the trees of the parsers of ``choice``, else
    for lists. A flag that only language models understand asks for the default models.

    Raises InputError for a flag given without another that it needs, for models that do not exist
    and for an output that cannot be loaded.
    """
    names: ModelNames | None = arguments.models
    has_probabilities = False
    if choice is not None:
        has_probabilities = "chart" in choice.names
        asked = "lm_weight", "criterion", "sha256", "token_scores"
        is_asked = any(getattr(arguments, name) for name in asked) or arguments.lm_weight == 0
        names = choice.reranking or (None if is_asked else choice.own_models)
    models = named_models(names, arguments.combine, arguments.sha256)
    chosen = RankSettings(
        models,
        models.weighing.replaced(arguments.lm_weight, arguments.criterion),
        arguments.combine,
        arguments.device,
        arguments.threads,
        arguments.precision,
        arguments.output,
        arguments.csv,
        arguments.token_scores,
        arguments.top,
    )
    output = chosen.form
    if output.needs_probabilities and not has_probabilities:
        raise InputError(
            f"--output {chosen.output} needs the probabilities of the parser chart (rerank parse "
            f"FILE --output {chosen.output}); for brackets without them use --output json"
        )
    if not output.has_all_candidates:
        if arguments.token_scores:
            raise InputError("--token-scores needs --output ranked")
        if arguments.top is not None:
            only = f"--output {chosen.output} writes only the best tree"
            raise InputError(f"--top needs --output ranked; {only}")
    return chosen


def load(settings: RankSettings) -> Reranker:
    """Load the models, and show that."""
    with loading(counted(len(settings.models.paths), "model")):
        return settings.load()
