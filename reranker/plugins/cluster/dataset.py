"""``map_lists``: a Ray data set of lists in, the same with the best trees out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ray
from ray.data import ActorPoolStrategy

from reranker.checkpoints.ensemble_file import ModelNames, named_models
from reranker.errors import InputError
from reranker.nbest import from_candidates
from reranker.plugins.cluster.work import loaded, self_contained
from reranker.work.ranking import Rank, RankSettings

if TYPE_CHECKING:
    import pyarrow

_ADDED = ("tree", "best_index", "score", "answer")


def map_lists(
    dataset: Any,
    models: ModelNames | None = None,
    *,
    candidates: str = "candidates",
    parser_scores: str | None = None,
    lm_weight: float | None = None,
    output: str = "ranked",
    actors: tuple[int, int] = (1, 1),
    cores: int = 1,
    gpus: float = 0.0,
    batch_size: int = 200,
) -> Any:
    """Return a ``ray.data.Dataset`` with the columns of ``dataset`` and four more: ``tree``, the
    best one; ``best_index``, its place among the candidates, and ``score``, both None where no
    candidate could be used; ``answer``, the text that ``rerank --output`` of that name prints.

    ``candidates`` is the column with each sentence's bracketed trees, ``parser_scores`` that with
    their natural-log probabilities. From ``actors[0]`` to ``actors[1]`` processes load the models,
    each with so many ``cores`` and ``gpus``. Nothing is computed until the result is used. Raises
    InputError for models and columns that do not exist.

    >>> rows = ray.data.read_json("lists.jsonl")  # doctest: +SKIP
    >>> map_lists(rows, "ckpt/", actors=(1, 8)).write_parquet("trees")  # doctest: +SKIP
    """
    columns = dataset.columns()
    for name in filter(None, (candidates, parser_scores)):
        if name not in columns:
            raise InputError(f"the data set has no column {name}; it has {', '.join(columns)}")
    for name in _ADDED:
        if name in columns:
            raise InputError(f"the data set has a column {name} already")
    named = named_models(models)
    weighing = named.weighing.replaced(lm_weight)
    if weighing.lm_weight < 1 and parser_scores is None:
        raise InputError(f"lm_weight {weighing.lm_weight:g} needs parser_scores to mix with")
    device = "auto" if gpus else "cpu"
    settings = self_contained(
        RankSettings(named, weighing, device=device, threads=cores, output=output)
    )
    return dataset.map_batches(
        _ListRanker,
        batch_size=batch_size,
        batch_format="pyarrow",
        compute=ActorPoolStrategy(min_size=actors[0], max_size=actors[1]),
        num_cpus=cores,
        num_gpus=gpus,
        fn_constructor_kwargs={
            "settings": settings,
            "checkpoints": [ray.put(path.read_bytes()) for path in named.paths],
            "candidates": candidates,
            "parser_scores": parser_scores,
        },
    )


class _ListRanker:
    """An actor: it loads the ensemble once, then ranks batch after batch."""

    def __init__(
        self,
        settings: RankSettings,
        checkpoints: Sequence[Any],
        candidates: str,
        parser_scores: str | None,
    ) -> None:
        self._job = Rank(loaded(settings, checkpoints), settings)
        self._form = settings.form
        self._candidates, self._parser_scores = candidates, parser_scores

    def __call__(self, batch: pyarrow.Table) -> pyarrow.Table:
        trees = batch.column(self._candidates).to_pylist()
        scores: list[Any] = [None] * len(trees)
        if self._parser_scores is not None:
            scores = batch.column(self._parser_scores).to_pylist()
        lists = map(from_candidates, trees, scores)
        rankings = [ranking for _, ranking in self._job.answers(lists)]
        best = [ranking.best for ranking in rankings]
        values: tuple[list[Any], ...] = (
            [ranking.tree for ranking in rankings],
            [each.index if each else None for each in best],
            [each.score if each else None for each in best],
            [self._form.line(ranking, number) for number, ranking in enumerate(rankings, 1)],
        )
        for name, column in zip(_ADDED, values, strict=True):
            batch = batch.append_column(name, [column])
        return batch
