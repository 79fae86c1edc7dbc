// What the server says of a sentence, made ready to be shown.

import { directionOf } from "./language.js";
import { rank } from "./ranking.js";

/** A sentence with its `candidates` in the parser's order and its `words`, as they were written;
 *  `written` are the attributes lang and dir of its words (`language` is null if not known). */
export function prepared(sentence, language) {
  const candidates = [...sentence.ranking].sort((a, b) => a.index - b.index);
  const words = sentence.origin?.text || sentence.words || wordsOf(sentence.fallback);
  return { ...sentence, candidates, words, written: { lang: language, dir: directionOf(words) } };
}

/** Why a sentence could not be parsed, or null. */
export const unparsed = ({ rejected }) =>
  rejected.find(({ code }) => code === "unparsed")?.message ?? null;

/** rank() at a weight, with `confidence`, the share of the best tree's brackets that should be right,
 *  and `betterThanFirst`, which the server gives for the order at weight 1; null if not known. */
export function orderOf(sentence, weight) {
  const order = rank(sentence, weight);
  const confidence = order.best?.candidate.confidence ?? null;
  return { ...order, confidence, betterThanFirst: weight === 1 ? (sentence.better_than_first ?? null) : null };
}

const wordsOf = (tree) => tree.replace(/\([^()\s]*|\)/g, "").trim() || "(no tree)";
