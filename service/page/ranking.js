// Scores -> the order of a sentence's candidates under a weight, as reranker/ranking.py has it.
// The server scores once; everything here is arithmetic on what it sent.

const NO_SCORE = "no parser score to mix with; use --lm-weight 1";

/** Rounded to 4 decimals as Python's round() does it: to the nearest, exact halves to even. */
export function rounded(value) {
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
  for (const one of sentence.candidates) {
    if (weight < 1 && one.parser_score === null) {
      rejected.push({ index: one.index, code: "no-score", message: NO_SCORE });
    } else {
      usable.push(one);
    }
  }
  const own = new Map(usable.map((one) => [one.index, mixed(one, weight)]));
  const ranking = usable.map((one) => {
    const isDuplicate = own.has(one.duplicate_of);
    return {
      candidate: one,
      index: one.index,
      score: own.get(isDuplicate ? one.duplicate_of : one.index),
      duplicateOf: isDuplicate ? one.duplicate_of : null,
    };
  });
  ranking.sort((a, b) => b.score - a.score || a.index - b.index);
  rejected.sort((a, b) => a.index - b.index);
  const runnerUp = ranking.slice(1).find((one) => one.duplicateOf === null) ?? null;
  return {
    ranking,
    rejected,
    best: ranking[0] ?? null,
    runnerUp,
    margin: runnerUp && rounded(ranking[0].score - runnerUp.score),
  };
}

/** What the models say of a candidate: the server's score for weight 1, which may be tuned. */
export const modelsScore = (one) => one.relevance_score ?? -one.nll;

function mixed(one, weight) {
  let score = weight * modelsScore(one);
  if (weight < 1) score += (1 - weight) * one.parser_score;
  return rounded(score);
}
