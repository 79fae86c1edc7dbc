// What each word of a typed sentence costs a reader: bars over a table, asked for when it is opened.

import { byId, element } from "./elements.js";

const HIGHEST_BAR = 56; // pixels
const ROWS = [
  ["surprisal", "total"],
  ["syntactic", "syntactic"],
  ["lexical", "lexical"],
];

/** The part of the page below the sentence. */
export class WordCosts {
  #ask;
  #answers = new WeakMap(); // by sentence, so that each is asked for once
  #sentence = null;
  #request = null; // an AbortController

  /** `ask(text, signal)` gives the answer of POST /surprisal for a sentence, or raises ServerError. */
  constructor(ask) {
    this.#ask = ask;
    byId("costs").addEventListener("toggle", () => this.#update());
  }

  /** Belong to a sentence as prepared() makes it; `isPossible`: whether the server can read it. */
  show(sentence, isPossible) {
    byId("costs").hidden = !(isPossible && sentence.origin);
    if (sentence === this.#sentence) return;
    this.#sentence = sentence;
    this.#update();
  }

  async #update() {
    this.#request?.abort();
    const sentence = this.#sentence;
    if (!sentence || !byId("costs").open || byId("costs").hidden) return;
    const known = this.#answers.get(sentence);
    if (known) return fill(known, sentence.written);
    const mine = (this.#request = new AbortController());
    say("Reading …");
    try {
      const answer = await this.#ask(sentence.origin.text, mine.signal);
      this.#answers.set(sentence, answer);
      if (mine === this.#request && !mine.signal.aborted) fill(answer, sentence.written);
    } catch (error) {
      if (error.name !== "AbortError") say(error.message);
    }
  }
}

/** Say something in place of the table. */
function say(text) {
  byId("costs-state").textContent = text;
  byId("costs-scroll").hidden = byId("costs-about").hidden = true;
}

function fill({ models, beam, unit, sentences: [sentence] }, { lang, dir }) {
  if (sentence.problem) return say(`This sentence was not read: ${sentence.problem}.`);
  const { words, surprisal, end } = sentence;
  const most = Math.max(1e-9, ...words.map((word) => word.surprisal));
  const bars = words.map((word) => element("td", {}, bar(word, HIGHEST_BAR / most)));
  const heads = words.map(({ text, unknown }) =>
    element("th", { scope: "col", lang }, text, ...(unknown ? [element("abbr", { title: "unknown" }, "*")] : [])),
  );
  const rows = ROWS.map(([name, title]) => {
    const cells = words.map((word) => element("td", {}, word[name].toFixed(1)));
    return element("tr", {}, element("th", { scope: "row" }, title), ...cells);
  });
  byId("costs-scroll").dir = dir;
  byId("costs-table").replaceChildren(
    element("caption", { class: "visually-hidden" }, `Surprisal of each word, in ${unit}`),
    element(
      "thead",
      {},
      element("tr", { "aria-hidden": "true" }, element("td"), ...bars),
      element("tr", {}, element("th", { scope: "col" }, unit), ...heads),
    ),
    element("tbody", {}, ...rows),
  );
  const isAnyUnknown = words.some(({ unknown }) => unknown);
  byId("costs-state").textContent =
    `The sentence costs ${surprisal.toFixed(1)} ${unit}, ${end.toFixed(1)} of them for its end.` +
    (isAnyUnknown ? " * The model does not know this word, and guesses at its letters." : "");
  byId("costs-model").textContent = `${models.join(", ")}, beam ${beam}`;
  byId("costs-scroll").hidden = byId("costs-about").hidden = false;
}

function bar({ syntactic, lexical }, scale) {
  const parts = [
    ["syntactic", syntactic],
    ["lexical", lexical],
  ].map(([name, value]) => {
    const part = element("span", { class: name });
    part.style.height = `${Math.max(0, value) * scale}px`;
    return part;
  });
  return element("span", { class: "cost" }, ...parts);
}
