// The page: the answer, and which sentence and candidates of it are shown.

import { startAsking } from "./asking.js";
import { Candidates } from "./candidates.js";
import { bestTree, rankedLine, save } from "./downloads.js";
import { byId, element } from "./elements.js";
import { ChoiceList, option } from "./lists.js";
import { modelsScore, rank } from "./ranking.js";
import { Reading } from "./reading.js";
import { isWord } from "./trees.js";
import { minus, ordinal, parsers, shortNumber, signed } from "./wording.js";

const LONG = 150; // characters; longer sentences are set smaller

const state = {
  sourceName: "",
  models: 1, // how many surprisals are summed
  sentences: [], // as the server gave them, and `candidates`, in the parser's order, and `words`
  orders: [], // for each sentence, rank() at the present weight
  weight: 1,
  current: 0, // which sentence is shown
  compared: null, // index of the candidate compared with the best; null: the parser's first
};

const reading = new Reading();
const candidates = new Candidates(compare);
const sentenceList = new ChoiceList(byId("sentences"), openSentence);
let sentenceEntries = [];

function showAnswer(answer, name, models) {
  const sentences = answer.sentences.map((sentence) => {
    const ordered = [...sentence.ranking].sort((a, b) => a.index - b.index);
    return { ...sentence, candidates: ordered, words: wordsOf(ordered, sentence.fallback) };
  });
  Object.assign(state, { sourceName: name, models, sentences, weight: 1 });
  byId("weight").value = 1;
  const all = sentences.flatMap((sentence) => sentence.candidates);
  const hasScores = all.some((candidate) => candidate.parser_score !== null);
  byId("weight").disabled = !hasScores;
  byId("weight-ends").hidden = !hasScores;
  byId("weight-none").hidden = hasScores;
  byId("warnings").textContent = answer.warnings.join(" ");
  byId("warnings").hidden = !answer.warnings.length;
  sentenceEntries = sentences.map((sentence, place) =>
    option(
      "sentence",
      place,
      element("span", { class: "id", title: sentence.id }, sentence.id),
      element("span", { class: "text" }, sentence.words),
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

/** Order the candidates of every sentence again; nothing is scored again. */
function weigh() {
  state.orders = state.sentences.map((sentence) => rank(sentence, state.weight));
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
    `${changed || "none"} with a new best tree` +
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
  const other = order.ranking.find((ranked) => ranked.index === wanted && ranked !== order.best);
  const compared = other ?? order.runnerUp;
  reading.show({
    best: order.best && described(order.best, order),
    other: compared && described(compared, order),
    models: state.models,
  });
}

function described(ranked, { best, ranking }) {
  const { candidate } = ranked;
  const name = parsers(ranked.index);
  const perplexity = `perplexity ${shortNumber(candidate.perplexity)}`;
  if (ranked === best) {
    const details = `${perplexity}, score ${minus(ranked.score, 2)}`;
    return { candidate, name: "best", title: `Best, the ${name}`, details };
  }
  const behind = best.score - ranked.score;
  // A duplicate has the score of the candidate it repeats.
  const counted = ranking.find(({ index }) => index === (ranked.duplicateOf ?? ranked.index));
  const lag =
    behind === 0
      ? "tied with the best"
      : `${behind.toFixed(2)} nats behind${shares(counted.candidate, best.candidate)}`;
  const details = `${perplexity}, ${lag}`;
  return { candidate, name, title: `The ${name}`, details };
}

/** How much models and parser each contribute to the distance, if both count. */
function shares(candidate, best) {
  if (state.weight === 1) return "";
  const models = state.weight * (modelsScore(candidate) - modelsScore(best));
  const parser = (1 - state.weight) * (candidate.parser_score - best.parser_score);
  return ` (models ${signed(models, 2)}, parser ${signed(parser, 2)})`;
}

function verdict(sentence, order) {
  const { best, margin, runnerUp } = order;
  if (!best) {
    const instead = bestTree(sentence, order);
    return `No candidate of this sentence can be used. The output has ${instead} instead.`;
  }
  const start =
    best.index === 0
      ? "The parser’s first tree stays on top"
      : `The ${parsers(best.index)} tree comes out on top`;
  const lead = !runnerUp
    ? ", the only usable candidate."
    : margin === 0
      ? `; the ${ordinal(runnerUp.index)} scores the same.`
      : `, ${margin.toFixed(2)} nats ahead of the ${ordinal(runnerUp.index)}.`;
  const unknown = best.candidate.unknown_words;
  const words = unknown === 1 ? "One word is" : `${unknown} words are`;
  return start + lead + (unknown ? ` ${words} unknown to the models.` : "");
}

let isWeighing = false;
byId("weight").addEventListener("input", () => {
  if (isWeighing) return; // once per frame is enough
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
  const lines = state.sentences.map((sentence, place) =>
    rankedLine(sentence, state.orders[place], state.sourceName),
  );
  save(lines, "ranked.jsonl", "application/jsonl");
});
byId("save-trees").addEventListener("click", () => {
  const lines = state.sentences.map((sentence, place) => bestTree(sentence, state.orders[place]));
  save(lines, "best.txt", "text/plain");
});

startAsking(showAnswer);
