// Scores -> the order of a sentence's candidates at a weight. The server scores once; the slider
// then works without it, so this repeats rank() of reranker/ranking.py. A test holds the two equal
// to the last bit: tests/service/page/test_ranking.py.

const NO_SCORE = "no parser score to mix with";

/** Rounded to 4 decimals as Python's round() does it: to the nearest, exact halves to even. */
function rounded(value) {
  // toFixed works on the exact binary value too, but takes halves away from zero. A double is
  // exactly halfway between two 4-decimal numbers only if it is an odd multiple of 1/32.
  if (Math.abs(value * 32) % 2 !== 1) return Number(value.toFixed(4));
  const truncated = Math.trunc(value * 10000);
  return (truncated % 2 === 0 ? truncated : truncated + Math.sign(value)) / 10000;
}

/**
 * Order candidates: weight * LM + (1 - weight) * parser, in nats, best first.
 *
 * `sentence.candidates` are all that were scored (their score, parser_score, duplicate_of), as the
 * server gives them for weight 1. Ties keep the parser's order, a duplicate takes the score of the
 * candidate it repeats, and below weight 1 one without parser score is rejected.
 */
export function rank(sentence, weight) {
  const rejected = [...sentence.rejected];
  const usable = [];
  for (const candidate of sentence.candidates) {
    if (weight < 1 && candidate.parser_score === null) {
      rejected.push({ index: candidate.index, code: "no-score", message: NO_SCORE });
    } else {
      usable.push(candidate);
    }
  }
  const scores = new Map(usable.map((candidate) => [candidate.index, mixed(candidate, weight)]));
  const ranking = usable.map((candidate) => {
    const duplicateOf = scores.has(candidate.duplicate_of) ? candidate.duplicate_of : null;
    const { index } = candidate;
    return { candidate, index, score: scores.get(duplicateOf ?? index), duplicateOf };
  });
  ranking.sort((a, b) => b.score - a.score || a.index - b.index);
  rejected.sort((a, b) => a.index - b.index);
  const runnerUp = ranking.slice(1).find((ranked) => ranked.duplicateOf === null) ?? null;
  return {
    ranking,
    rejected,
    best: ranking[0] ?? null,
    runnerUp,
    margin: marginOf(sentence, weight, ranking[0], runnerUp),
  };
}

// Null without a runner-up, and if it is too large for a number. At weight 1 the server knows better:
// candidates that the span models have put last are no runners-up.
function marginOf(sentence, weight, best, runnerUp) {
  if (weight === 1 && sentence.margin !== undefined) return sentence.margin;
  const difference = runnerUp ? best.score - runnerUp.score : Infinity;
  return Number.isFinite(difference) ? rounded(difference) : null;
}

/** The models' part of the score: the server's score at weight 1, which may be tuned. */
export const modelsScore = (candidate) =>
  candidate.mixed_score ?? candidate.relevance_score ?? -candidate.nll;

function mixed(candidate, weight) {
  // At weight 1 the span models may have put some last: their mixed_score is another.
  if (weight === 1) return rounded(candidate.relevance_score ?? -candidate.nll);
  let score = weight * modelsScore(candidate);
  score += (1 - weight) * candidate.parser_score;
  return rounded(score);
}
