// Files to save, in the formats of `rerank --output ranked` and `--output best`.

import { element } from "./elements.js";
import { treeFor } from "./trees.js";

/** One line of `--output ranked` (docs/output.md) for a sentence and its order. */
export function rankedLine(sentence, order, sourceName) {
  return JSON.stringify({
    version: 2,
    id: sentence.id,
    status: order.best ? "ok" : "failed",
    best_index: order.best?.index ?? null,
    margin: order.margin,
    confidence: order.confidence,
    better_than_first: order.betterThanFirst,
    fallback: order.best ? null : sentence.fallback,
    ranking: order.ranking.map(({ candidate, score, duplicateOf }) => ({
      index: candidate.index,
      score,
      nll: candidate.nll,
      perplexity: candidate.perplexity,
      token_perplexity: candidate.token_perplexity,
      span_nll: candidate.span_nll,
      tokens: candidate.tokens,
      unknown_words: candidate.unknown_words,
      parser_score: candidate.parser_score,
      duplicate_of: duplicateOf,
      repaired: candidate.repaired,
      tree: candidate.tree,
      member_nll: candidate.member_nll,
      mixed_score: score === candidate.relevance_score ? candidate.mixed_score : undefined,
    })),
    rejected: order.rejected.map(({ index, line = 0, code, message }) => ({
      index,
      file: sourceName,
      line,
      code,
      message,
    })),
    ...(sentence.origin ? { origin: { file: sourceName, ...sentence.origin } } : {}),
    ...(typeof sentence.entropy === "number" ? { entropy: sentence.entropy } : {}),
  });
}

/** The brackets of all best trees, as `--output brackets --csv` writes them. */
export function bracketRows({ sentences, orders }) {
  const rows = sentences.flatMap((sentence, place) => {
    const { text, offsets, speaker } = sentence.origin;
    const characters = [...text]; // offsets count these, not UTF-16's units
    const brackets = bracketsOf(sentence, orders[place].best);
    if (!brackets.length) return [[place + 1, "", "", "", "", "", "", text, speaker]];
    return brackets.map(([label, start, end, probability]) => {
      const [from, to] = [offsets[start][0], offsets[end - 1][1]];
      const words = characters.slice(from - offsets[0][0], to - offsets[0][0]).join("");
      return [place + 1, label, start, end, sentence.isForeign ? "" : probability, from, to, words, speaker];
    });
  });
  return [BRACKETS, ...rows].map((row) => row.map(cell).join(","));
}

// Label, first word, the word after the last, probability. The server lists those of its own best tree.
function bracketsOf({ best_index: own, constituents }, best) {
  if (best && best.index === own) return constituents.map((each) => [each.label, ...each.words, each.probability]);
  const nodes = best ? treeFor(best.candidate).nodes : [];
  return nodes.map(({ label, start, end, probability }) => [label, start, end, probability]);
}

const BRACKETS = ["sentence", "label", "start", "end", "probability", "start_char", "end_char", "text", "speaker"];

const FORMULA = /^[=+@-]./su;
const NUMBER = /^[-+]?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?$/;

/** A cell, quoted where necessary, on one line; with an apostrophe where a spreadsheet would compute it. */
function cell(value) {
  const given = String(value ?? "").trim().replace(/\s+/gu, " ");
  const text = FORMULA.test(given) && !NUMBER.test(given) ? `'${given}` : given;
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The best tree, or the fallback. */
export function bestTree(sentence, order) {
  return order.best ? order.best.candidate.tree : (sentence.fallback ?? "(TOP )");
}

/** Let the browser save lines of text under a name. */
export const save = (lines, name, type) =>
  saveBlob(new Blob([lines.map((line) => line + "\n").join("")], { type }), name);

/** Let the browser save a Blob under a name. */
export function saveBlob(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  // Some browsers read it only after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
