// The list of sentences, each with how sure its tree is, or which of its candidates is best.

import { byId, element } from "./elements.js";
import { ChoiceList, option } from "./lists.js";
import { ordinal, percent } from "./wording.js";

export class Sentences {
  #list;
  #choose;
  #entries = [];
  #certainties = []; // by place; a tree that is not known counts as least certain

  /** `choose(place, isStep)` is called when the user selects a sentence; Back undoes a step. */
  constructor(choose) {
    this.#choose = choose;
    this.#list = new ChoiceList(byId("sentences"), choose);
  }

  /** Select a sentence, as a click on it does. */
  choose(place) {
    this.#choose(place, true);
  }

  clear() {
    [this.#entries, this.#certainties] = [[], []];
    this.#list.show([]);
  }

  /** Put the least certain sentences first, or all in the order of the text. */
  sort(isSorted) {
    const certainty = (entry) => this.#certainties[entry.dataset.key];
    const entries = [...this.#entries];
    if (isSorted) entries.sort((a, b) => certainty(a) - certainty(b));
    this.#list.show(entries);
  }

  /** Add the next sentence, with its order. */
  add(sentence, order) {
    const place = this.#entries.length;
    const id = sentence.origin ? String(place + 1) : sentence.id;
    const entry = option(
      "sentence",
      place,
      element("span", { class: "id", title: id }, id),
      element("span", { class: "text", ...sentence.written }, ...speakerOf(sentence), sentence.words),
      element("span", { class: "mark" }),
    );
    this.#entries.push(entry);
    this.#list.append(entry);
    this.mark(place, sentence, order);
  }

  /** Say what an order makes of the sentence in this place. */
  mark(place, sentence, { best, confidence }) {
    const entry = this.#entries[place];
    const isChanged = !sentence.origin && best !== null && best.index !== 0;
    this.#certainties[place] = confidence ?? 0;
    entry.classList.toggle("changed", isChanged);
    entry.classList.toggle("failed", best === null);
    const text = best === null ? "none" : sentence.origin ? share(sentence, confidence) : ordinal(best.index);
    if (entry.lastChild.textContent !== text) entry.lastChild.textContent = text;
  }

  activate(place) {
    this.#list.activate(place);
  }
}

/** The name before a turn of a transcript, if the sentence has one, as children of an element. */
export function speakerOf({ origin }) {
  return origin?.speaker ? [element("span", { class: "speaker" }, `${origin.speaker}:`), " "] : [];
}

const share = ({ isForeign }, confidence) => (isForeign || confidence === null ? "" : percent(confidence).replace("more than ", ">\u00a0"));
