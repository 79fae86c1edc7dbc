// What the page says of a sentence and of a list, in words.

import { unparsed } from "./answer.js";
import { bestTree } from "./downloads.js";
import { languageName } from "./language.js";
import { modelsScore } from "./ranking.js";
import { counted, minus, nats, parsers, percent, perplexityOf, signed } from "./wording.js";

const SURE = 0.6; // a tree that is less probably better than the parser's first is not called best

/** Which tree is on top and by how much: the statement itself, and what goes with it. */
export function verdict(sentence, order) {
  const { best } = order;
  const reason = unparsed(sentence);
  if (reason !== null) return ["This sentence could not be parsed:", `${reason}.`];
  if (!best) {
    const instead = bestTree(sentence, order);
    return ["No candidate of this sentence can be used.", `The output has ${instead} instead.`];
  }
  const { unknown_words: unknown } = best.candidate;
  const words = unknown === 1 ? "One word is" : `${unknown} words are`;
  const more = unknown ? `${words} unknown to the models.` : "";
  if (isAlone(sentence)) {
    return ["The parser gave one tree for this sentence:", `nothing to compare. ${more}`.trim()];
  }
  return [leader(order), `${lead(order)} ${more}`.trim()];
}

function leader({ best, betterThanFirst }) {
  if (best.index === 0) return "The parser’s first tree stays on top";
  const tree = `The ${parsers(best.index)} tree`;
  const isUnsure = betterThanFirst !== null && betterThanFirst < SURE;
  return isUnsure ? `${tree} leads, but not surely` : `${tree} comes out on top`;
}

/** Whether a sentence has a single candidate, usable or not. */
export const isAlone = (sentence) =>
  sentence.candidates.length + sentence.rejected.length === 1 && unparsed(sentence) === null;

function lead({ margin, runnerUp, ranking }) {
  if (!runnerUp) {
    return ranking.length > 1
      ? "; the others differ from it in tags only."
      : ", the only usable candidate.";
  }
  const second = `the runner-up, the ${parsers(runnerUp.index)}`;
  if (margin === 0) return `; ${second}, scores the same.`;
  if (margin === null) return `, too far ahead of ${second}, for a number.`;
  return `, ${nats(margin)} nats ahead of ${second}.`;
}

/** How good the best tree should be, as far as that is known. */
export function certainty({ isForeign }, { confidence, betterThanFirst }, language) {
  if (isForeign) return `How much of this is right is not known: the parser reads ${languageName(language)}.`;
  if (confidence !== null) return `${about(confidence)} of this tree’s brackets should be right.`;
  if (betterThanFirst === null) return "";
  return `${capital(percent(betterThanFirst))} sure that this is better than the parser’s first.`;
}

/** "About 92%", but "More than 99%". */
const about = (probability) => capital(percent(probability).replace(/^(?=\d)/, "about "));

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** A ranked candidate as the drawings show it: {candidate, name, title, details}. */
export function described(ranked, order, weight) {
  const { best, ranking, runnerUp } = order;
  const { candidate } = ranked;
  const name = parsers(ranked.index);
  const perplexity = `perplexity ${perplexityOf(candidate)}`;
  if (ranked === best) {
    const title = ranking.length > 1 ? `Best, the ${name}` : `The ${name}`;
    const details = `${perplexity}, score ${minus(ranked.score, 2)}`;
    return { candidate, name: ranking.length > 1 ? "best" : "tree", title, details };
  }
  const behind = best.score - ranked.score;
  // A duplicate has the score of the candidate it repeats.
  const counted = ranking.find(({ index }) => index === (ranked.duplicateOf ?? ranked.index));
  const lag =
    behind === 0
      ? "tied with the best"
      : `${nats(behind)} nats behind${shares(counted.candidate, best.candidate, weight)}`;
  const title = ranked === runnerUp ? `Runner-up, the ${name}` : `The ${name}`;
  return { candidate, name, title, details: `${perplexity}, ${lag}` };
}

/** How much models and parser each contribute to the distance, if both count. */
function shares(candidate, best, weight) {
  if (weight === 1) return "";
  const models = weight * (modelsScore(candidate) - modelsScore(best));
  const parser = (1 - weight) * (candidate.parser_score - best.parser_score);
  return ` (models ${signed(models, 2)}, parser ${signed(parser, 2)})`;
}

/** Of a whole list: `state` as in page.js. */
export function summary({ name, text, total, isComplete, sentences, orders }) {
  if (isComplete === null) return `${name}: ${counted(total, "sentence")} …`;
  const count =
    sentences.length === total
      ? counted(total, "sentence")
      : `${sentences.length} of ${counted(total, "sentence")}`;
  if (!text && sentences.every(isAlone)) return `${name}: ${count}, with one tree each: nothing to compare.`;
  const failed = orders.filter(({ best }) => !best).length;
  const failures = failed ? `, ${failed} without a usable tree` : "";
  if (text) return `${name}: ${count}${failures}.`;
  const changed = orders.filter(({ best }) => best && best.index !== 0).length;
  return `${name}: ${count}${failures}. Reranking changed ${changed ? counted(changed, "tree") : "no tree"}.`;
}
