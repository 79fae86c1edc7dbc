// What the server says of a sentence, made ready to be shown.

import { rank } from "./ranking.js";
import { isWord } from "./trees.js";

/** A sentence with its `candidates` in the parser's order and its `words`, as they were written. */
export function prepared(sentence) {
  const candidates = [...sentence.ranking].sort((a, b) => a.index - b.index);
  const words = sentence.origin?.text || wordsOf(candidates, sentence.fallback);
  return { ...sentence, candidates, words };
}

/** Why a sentence could not be parsed, or null. */
export const unparsed = ({ rejected }) =>
  rejected.find(({ code }) => code === "unparsed")?.message ?? null;

/** rank() at a weight, and `confidence`, which the server gives for the order at weight 1. */
export function orderOf(sentence, weight) {
  const { confidence = null } = sentence;
  return { ...rank(sentence, weight), confidence: weight === 1 ? confidence : null };
}

function wordsOf([first], fallback) {
  if (!first) return fallback.replace(/\([^()\s]*|\)/g, "").trim() || "(no tree)";
  const tokens = first.token_scores.map(([token]) => token);
  return tokens.filter(isWord).join(" ");
}
