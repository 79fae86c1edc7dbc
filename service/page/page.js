// The page: what came back and what of it is looked at.

import { startAsking } from "./asking.js";
import { Candidates } from "./candidates.js";
import { bestTree, rankedLine, save } from "./downloads.js";
import { byId, element } from "./elements.js";
import { ChoiceList, option } from "./lists.js";
import { modelsScore, rank } from "./ranking.js";
import { Reading } from "./reading.js";
import { isWord } from "./trees.js";
import { minus, ordinal, parsers, shortNumber, signed } from "./wording.js";

const LONG = 150; // characters of a sentence that is set smaller

const state = {
  sourceName: "",
  models: 1, // how many surprisals are summed
  sentences: [], // as the server gave them, and `candidates`, in the parser's order, and `words`
  orders: [], // for each sentence, rank() at the present weight
  weight: 1,
  current: 0, // which sentence is looked at
  compared: null, // index of the candidate compared with the best; null: the parser's first
};

const reading = new Reading();
const candidates = new Candidates(compare);
const sentenceList = new ChoiceList(byId("sentences"), openSentence);
let sentenceEntries = [];

function showAnswer(answer, name, models) {
  const sentences = answer.sentences.map((one) => {
    const ordered = [...one.ranking].sort((a, b) => a.index - b.index);
    return { ...one, candidates: ordered, words: wordsOf(ordered, one.fallback) };
  });
  Object.assign(state, { sourceName: name, models, sentences, weight: 1 });
  byId("weight").value = 1;
  const isScored = (one) => one.candidates.some((candidate) => candidate.parser_score !== null);
  const hasScores = sentences.some(isScored);
  byId("weight").disabled = !hasScores;
  byId("weight-ends").hidden = !hasScores;
  byId("weight-none").hidden = hasScores;
  byId("warnings").textContent = answer.warnings.join(" ");
  byId("warnings").hidden = !answer.warnings.length;
  sentenceEntries = sentences.map((one, place) =>
    option(
      "sentence",
      place,
      element("span", { class: "id", title: one.id }, one.id),
      element("span", { class: "text" }, one.words),
      element("span", { class: "mark" }),
    ),
  );
  sentenceList.show(sentenceEntries);
  byId("input").hidden = true;
  byId("results").hidden = false;
  weigh();
  openSentence(0);
  scrollTo(0, 0);
  byId("sentences").focus({ preventScroll: true });
}

function wordsOf([first], fallback) {
  if (!first) return fallback.replace(/\([^()\s]*|\)/g, "").trim() || "(no tree)";
  const tokens = first.token_scores.map(([token]) => token);
  return tokens.filter(isWord).join(" ");
}

/** Order every sentence anew: nothing is scored again. */
function weigh() {
  state.orders = state.sentences.map((one) => rank(one, state.weight));
  byId("weight-value").textContent = state.weight.toFixed(2);
  let changed = 0;
  let failed = 0;
  state.orders.forEach(({ best }, place) => {
    const isChanged = best !== null && best.index !== 0;
    changed += isChanged;
    failed += best === null;
    const entry = sentenceEntries[place];
    entry.classList.toggle("changed", isChanged);
    entry.classList.toggle("failed", best === null);
    const text = best === null ? "none" : isChanged ? ordinal(best.index) : "kept";
    if (entry.lastChild.textContent !== text) entry.lastChild.textContent = text;
  });
  const count = state.sentences.length;
  byId("summary").textContent =
    `${state.sourceName}: ${count} ${count === 1 ? "sentence" : "sentences"}, ` +
    `${changed || "none"} with another tree on top` +
    (failed ? `, ${failed} without a usable tree.` : ".");
}

function openSentence(place) {
  state.current = place;
  state.compared = null;
  sentenceList.activate(place);
  candidates.open(state.sentences[place].candidates);
  showSentence();
}

function compare(index) {
  const { best } = state.orders[state.current];
  state.compared = index === best.index ? null : index;
  candidates.activate(index, true);
  showReading();
}

function showSentence() {
  const order = state.orders[state.current];
  candidates.show(order);
  candidates.activate(state.compared ?? order.best?.index, state.compared !== null);
  showReading();
}

function showReading() {
  const sentence = state.sentences[state.current];
  const order = state.orders[state.current];
  byId("sentence").textContent = sentence.words;
  byId("sentence").classList.toggle("long", sentence.words.length > LONG);
  byId("verdict").textContent = verdict(sentence, order);
  const wanted = state.compared ?? sentence.candidates[0]?.index;
  const other = order.ranking.find((one) => one.index === wanted && one !== order.best);
  const compared = other ?? order.runnerUp;
  reading.show({
    best: order.best && described(order.best, order),
    other: compared && described(compared, order),
    models: state.models,
  });
}

function described(one, { best, ranking }) {
  const name = parsers(one.index);
  const perplexity = `perplexity ${shortNumber(one.candidate.perplexity)}`;
  if (one === best) {
    const details = `${perplexity}, score ${minus(one.score, 2)}`;
    return { candidate: one.candidate, name: "best", title: `Best, the ${name}`, details };
  }
  const behind = best.score - one.score;
  // A duplicate has the score of the one it repeats.
  const counted = ranking.find(({ index }) => index === (one.duplicateOf ?? one.index));
  const lag =
    behind === 0
      ? "as good as the best"
      : `${behind.toFixed(2)} nats behind${shares(counted.candidate, best.candidate)}`;
  const details = `${perplexity}, ${lag}`;
  return { candidate: one.candidate, name, title: `The ${name}`, details };
}

/** How models and parser each contribute to being behind, where both count. */
function shares(one, best) {
  if (state.weight === 1) return "";
  const models = state.weight * (modelsScore(one) - modelsScore(best));
  const parser = (1 - state.weight) * (one.parser_score - best.parser_score);
  return ` (models ${signed(models, 2)}, parser ${signed(parser, 2)})`;
}

function verdict(sentence, order) {
  const { best, margin, runnerUp } = order;
  if (!best) {
    const instead = bestTree(sentence, order);
    return `No candidate of this sentence can be used. Its place is taken by ${instead}`;
  }
  const start =
    best.index === 0
      ? "The parser’s first tree stays on top"
      : `The ${parsers(best.index)} tree comes out on top`;
  const lead = !runnerUp
    ? ", and there is no other."
    : margin === 0
      ? `; the ${ordinal(runnerUp.index)} scores the same.`
      : `, ${margin.toFixed(2)} nats ahead of the ${ordinal(runnerUp.index)}.`;
  const unknown = best.candidate.unknown_words;
  const words = unknown === 1 ? "One word is" : `${unknown} words are`;
  return start + lead + (unknown ? ` ${words} new to the models.` : "");
}

let isWeighing = false;
byId("weight").addEventListener("input", () => {
  if (isWeighing) return; // once for every frame is enough
  isWeighing = true;
  requestAnimationFrame(() => {
    isWeighing = false;
    state.weight = Number(byId("weight").value);
    weigh();
    showSentence();
  });
});
byId("again").addEventListener("click", () => {
  byId("results").hidden = true;
  byId("input").hidden = false;
  byId("nbest").focus();
});
byId("save-ranked").addEventListener("click", () => {
  const lines = state.sentences.map((one, place) =>
    rankedLine(one, state.orders[place], state.sourceName),
  );
  save(lines, "ranked.jsonl", "application/jsonl");
});
byId("save-trees").addEventListener("click", () => {
  const lines = state.sentences.map((one, place) => bestTree(one, state.orders[place]));
  save(lines, "best.txt", "text/plain");
});

startAsking(showAnswer);
