// The page: the answer, and which sentence and candidates of it are shown.

import { linkTo, readAddress, writeAddress } from "./address.js";
import { joined, looksLikeAlternatives } from "./alternatives.js";
import { orderOf, prepared } from "./answer.js";
import {
  askFor,
  cancel,
  keepText,
  openList,
  say,
  startAsking,
} from "./asking.js";
import { Candidates } from "./candidates.js";
import { copyOnClick } from "./clipboard.js";
import { showDoubt } from "./doubt.js";
import { bestTree, bracketRows, rankedLine, save } from "./downloads.js";
import { showEdges } from "./edges.js";
import { byId } from "./elements.js";
import { keepTreesFirst } from "./narrow.js";
import { isForeign } from "./language.js";
import { printSheets, saveSheets } from "./sheets.js";
import { showOriginal } from "./original.js";
import { Reading } from "./reading.js";
import { Sentences } from "./sentences.js";
import { certainty, described, isAlone, summary, verdict } from "./verdict.js";

const LONG = 150; // characters; longer sentences are set smaller
const LONGEST_SHARED = 1500; // characters of a text in a link: some programs cut longer links

const NOTHING = {
  id: "", // the list's name in the address
  name: "",
  text: "", // that was typed, to be parsed
  language: null, // a code of ISO 639, if it is known
  total: 0, // sentences of the list
  isComplete: null, // null: sentences are still coming
  sentences: [], // as prepared() makes them
  orders: [], // for each sentence, orderOf() at the present weight
  current: 0, // which sentence is shown
  compared: null, // index of the candidate compared with the best; null: the parser's first
};
const state = { ...NOTHING, weight: 1 };
let written = { sentence: null, words: [] }; // what is above the trees
let wanted = readAddress(); // what to show once it is there; null: what the user has chosen since

const reading = new Reading(() => remember(false));
const candidates = new Candidates(compare);
byId("compare").addEventListener("toggle", () => state.sentences.length && showReading());
const sentenceList = new Sentences((place, isStep) => {
  wanted = null;
  openSentence(place);
  remember(isStep);
});

/** Put what is shown into the address; Back undoes a step. */
function remember(isStep) {
  const { id: list, current: sentence, weight, compared: tree } = state;
  const { isStacked: stacked } = reading;
  writeAddress({ list, sentence, weight, tree, stacked }, isStep);
  byId("share").hidden = state.text ? state.text.length > LONGEST_SHARED : list !== "example";
}

/** Show what the address asks for. */
async function followAddress() {
  const address = readAddress();
  if (address.text) writeAddress({ ...address, list: keepText(address.text) }, false);
  wanted = readAddress();
  const isThere = wanted.list === state.id && state.sentences.length > 0;
  if (!wanted.list) showForm();
  else if (!isThere) await openList(wanted.list);
  else {
    showResults();
    settle();
  }
}

/** The rest of what the address asks for, once the sentences are there. */
function settle() {
  if (!wanted) return;
  const { sentence, weight, tree, stacked } = wanted;
  reading.isStacked = stacked;
  setWeight(byId("weight").disabled ? 1 : weight);
  openSentence(Math.min(sentence, state.sentences.length - 1));
  if (tree !== null) compare(tree);
  reading.fit();
  remember(false);
  wanted = null;
}

function begin(list) {
  const isStep = list.id !== readAddress().list;
  if (isStep) wanted = null;
  Object.assign(state, NOTHING, list, { sentences: [], orders: [], weight: 1 });
  for (const id of ["warnings", "alternatives"]) byId(id).hidden = true;
  byId("weight-part").hidden = false;
  byId("weight").disabled = true;
  sentenceList.clear();
  showResults();
  setWeight(1);
  if (isStep) remember(true);
  scrollTo(0, 0);
  const isText = list.text !== "";
  byId("compare").open = !isText;
  byId("results").classList.toggle("many", list.total > 1);
  byId("side").hidden = byId("summary").hidden = isText && list.total < 2;
  byId("sort").textContent = isText ? "certainty" : "best tree";
  byId("sort").disabled = true; // until all sentences are there
  byId("sort").setAttribute("aria-pressed", "false");
  byId("save-brackets").hidden = !isText;
  if (!isText) byId("sentences").focus({ preventScroll: true });
}

function add(sentence) {
  const added = prepared(sentence, state.language);
  const place = state.sentences.push(added) - 1;
  state.orders.push(orderOf(added, state.weight));
  sentenceList.add(added, state.orders[place]);
  if (added.candidates.some((candidate) => candidate.parser_score !== null)) byId("weight").disabled = false;
  if (place === 0) {
    byId("summary").textContent = summary(state);
    openSentence(0);
  } else if (place === wanted?.sentence) {
    openSentence(place);
  } else {
    showPager();
  }
}

function end({ warnings, isComplete }) {
  state.isComplete = isComplete;
  if (state.text && isForeign(state.text, state.language, warnings)) forgetProbabilities();
  const isSingle = state.sentences.every(isAlone);
  const hasScores = !byId("weight").disabled;
  byId("weight-part").hidden = isSingle;
  byId("side-hint").hidden = isSingle;
  byId("weight-ends").hidden = !hasScores;
  byId("weight-none").hidden = hasScores;
  byId("warnings").textContent = warnings.map(withoutFlags).join(" ");
  byId("warnings").hidden = !warnings.length;
  const isText = state.sentences.some(({ origin }) => origin);
  byId("alternatives").hidden = isText || !(isComplete && looksLikeAlternatives(state.sentences));
  byId("summary").textContent = summary(state);
  byId("sort").disabled = !isText;
  if (state.sentences.length) showSentence();
  settle();
}

/** Of a text in a language that the parser does not know they mean nothing. */
function forgetProbabilities() {
  for (const sentence of state.sentences) sentence.isForeign = true;
  setWeight(state.weight);
}

/** Order the candidates of every sentence again; nothing is scored again. */
function setWeight(weight) {
  state.weight = weight;
  byId("weight").value = weight;
  byId("weight-value").textContent = weight.toFixed(2);
  state.orders = state.sentences.map((sentence) => orderOf(sentence, weight));
  state.orders.forEach((order, place) => sentenceList.mark(place, state.sentences[place], order));
  if (state.isComplete !== null) byId("summary").textContent = summary(state);
}

function openSentence(place) {
  state.current = place;
  state.compared = null;
  sentenceList.activate(place);
  candidates.open(state.sentences[place].candidates);
  showSentence();
  showPager();
}

function compare(index) {
  const { best, ranking } = state.orders[state.current];
  if (!ranking.some((ranked) => ranked.index === index)) return;
  state.compared = index === best.index ? null : index;
  candidates.activate(index, true);
  showReading();
  if (!wanted) remember(false);
}

function showSentence() {
  const order = state.orders[state.current];
  candidates.show(order);
  candidates.activate(state.compared ?? order.best?.index, state.compared !== null);
  showReading();
}

function showReading() {
  const { sentences, orders, current, weight } = state;
  const [sentence, order] = [sentences[current], orders[current]];
  const { best, runnerUp } = order;
  if (written.sentence !== sentence) {
    written = { sentence, words: showOriginal(byId("sentence"), sentence) };
  }
  byId("sentence").classList.toggle("long", sentence.words.length > LONG);
  byId("reading").classList.toggle("parsed", Boolean(state.text) && best !== null);
  byId("reading").classList.toggle("failed", best === null);
  const [statement, more] = verdict(sentence, order);
  const joint = /^[,;]/.test(more) ? "" : " ";
  byId("verdict-statement").textContent = statement;
  byId("verdict-more").textContent = joint + more;
  const isComparing = byId("compare").open || !state.text;
  byId("verdict").hidden = !isComparing && best !== null;
  byId("certainty").textContent = certainty(sentence, order, state.language);
  const asked = state.compared ?? sentence.candidates[0]?.index;
  const other = order.ranking.find((ranked) => ranked.index === asked && ranked !== best);
  const isOpen = isComparing || state.compared !== null;
  const compared = isOpen ? (other ?? runnerUp) : null;
  const shown = (ranked, plain) =>
    ranked && {
      ...described(ranked, order, weight),
      ...(isComparing ? {} : plain),
      sentence,
    };
  showDoubt(byId("doubt"), sentence, order, compared?.index, compare);
  reading.show({
    best: shown(best, { name: "tree", title: compared ? "This reading" : "", details: "" }),
    other: shown(compared, { name: "other reading", title: "The other reading", details: "" }),
    id: sentence.id,
    words: written.words,
  });
}

function showPager() {
  const { current, sentences, total } = state;
  byId("pager").hidden = total < 2;
  byId("pager-place").textContent = `Sentence ${current + 1} of ${total}`;
  byId("previous").disabled = current === 0;
  byId("next").disabled = current >= sentences.length - 1;
}

function showResults() {
  byId("lists-part").open = false;
  byId("results").hidden = false;
}

/** Take the former answer away, for a message in its place. */
function clear() {
  Object.assign(state, NOTHING, { sentences: [], orders: [] });
  byId("results").hidden = true;
}

function showForm() {
  cancel();
  byId("results").hidden = true;
  byId("lists-part").open = byId("text-part").hidden;
  say("");
}

let isWeighing = false;
byId("weight").addEventListener("input", () => {
  if (isWeighing) return; // once per frame is enough
  isWeighing = true;
  requestAnimationFrame(() => {
    isWeighing = false;
    setWeight(Number(byId("weight").value));
    showSentence();
  });
});
byId("weight").addEventListener("change", () => remember(false));
for (const [id, step] of [["previous", -1], ["next", 1]]) {
  byId(id).addEventListener("click", () => sentenceList.choose(state.current + step));
}
byId("join").addEventListener("click", () => askFor(state.name, joined(state.sentences), "jsonl"));
copyOnClick(byId("share"), () => (state.text ? linkTo(state.text) : location.href));
byId("save-ranked").addEventListener("click", () => {
  const lines = state.sentences.map((sentence, place) =>
    rankedLine(sentence, state.orders[place], state.name),
  );
  save(lines, "ranked.jsonl", "application/jsonl");
});
byId("save-trees").addEventListener("click", () => {
  const lines = state.sentences.map((sentence, place) => bestTree(sentence, state.orders[place]));
  save(lines, "best.txt", "text/plain");
});

byId("save-brackets").addEventListener("click", () => save(bracketRows(state), "brackets.csv", "text/csv"));
byId("save-drawings").addEventListener("click", () => saveSheets(bestTrees()));
byId("print").addEventListener("click", () => printSheets(bestTrees()));
byId("sort").addEventListener("click", () => {
  const isSorted = byId("sort").getAttribute("aria-pressed") !== "true";
  byId("sort").setAttribute("aria-pressed", isSorted);
  sentenceList.sort(isSorted);
});

/** A warning about the text in the box, without the flags of commands, which the page does not have. */
const withoutFlags = (warning) => warning.replace(/^text: /u, "").replace(/ \((--|form|speakers)[^()]*\)$/u, ".");

/** The best tree of each sentence that has one: {candidate, words, origin, isForeign}. */
function bestTrees() {
  return state.orders.flatMap(({ best }, place) => {
    const { words, origin, isForeign: isUnknown } = state.sentences[place];
    return best ? [{ candidate: best.candidate, words, origin, isForeign: isUnknown }] : [];
  });
}

keepTreesFirst();
for (const id of ["sentences-scroll", "candidates-scroll"]) showEdges(byId(id));

addEventListener("popstate", followAddress);
let isFirst = true;
startAsking({
  begin,
  add,
  end,
  clear,
  ready() {
    if (isFirst) followAddress(); // a list that the address names
    isFirst = false;
  },
});
