// What the server says of a sentence, made ready to be shown.

import { directionOf } from "./language.js";
import { rank, rounded } from "./ranking.js";
import { isWord, treeFor } from "./trees.js";

/** A sentence with its `candidates` in the parser's order and its `words`, as they were written;
 *  `written` are the attributes lang and dir of its words (`language` is null if not known), and `brackets` becomes a Map of probabilities by "first last label", null if the parser cannot tell. */
export function prepared(sentence, language) {
  const candidates = [...sentence.ranking].sort((a, b) => a.index - b.index);
  const words = sentence.origin?.text || wordsOf(candidates, sentence.fallback);
  const rows = sentence.brackets ?? null;
  const brackets = rows && new Map(rows.map(([start, end, label, p]) => [`${start} ${end} ${label}`, p]));
  const written = { lang: language, dir: directionOf(words) };
  return { ...sentence, candidates, words, written, brackets };
}

/** How probable a node of a tree is, or null: the root is in all trees. */
export function probabilityOf(node, { brackets }) {
  if (!brackets || node.opening === undefined) return null;
  return brackets.get(`${node.start} ${node.end} ${node.label}`) ?? 0;
}

/** Why a sentence could not be parsed, or null. */
export const unparsed = ({ rejected }) =>
  rejected.find(({ code }) => code === "unparsed")?.message ?? null;

/** rank() at a weight, with `confidence`, the share of the best tree's brackets that should be right,
 *  and `betterThanFirst`, which the server gives for the order at weight 1; null if not known. */
export function orderOf(sentence, weight) {
  const order = rank(sentence, weight);
  const { better_than_first: better = null } = sentence;
  return {
    ...order,
    confidence: confidenceIn(order.best, sentence),
    betterThanFirst: weight === 1 ? better : null,
  };
}

function confidenceIn(best, sentence) {
  if (!best || best.index === sentence.best_index) return sentence.confidence ?? null;
  const known = treeFor(best.candidate).nodes.map((node) => probabilityOf(node, sentence));
  const found = known.filter((probability) => probability !== null);
  return found.length ? rounded(found.reduce((sum, each) => sum + each, 0) / found.length) : null;
}

function wordsOf([first], fallback) {
  if (!first) return fallback.replace(/\([^()\s]*|\)/g, "").trim() || "(no tree)";
  const tokens = first.token_scores.map(([token]) => token);
  return tokens.filter(isWord).join(" ");
}
