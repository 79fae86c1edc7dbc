// The list of a sentence's candidates, and below it those that cannot be used.

import { byId, element } from "./elements.js";
import { ChoiceList, option } from "./lists.js";
import { minus, nats, ordinal, parsers, perplexityOf } from "./wording.js";

export class Candidates {
  #list;
  #entries = new Map(); // by the candidate's index

  /** `choose(index)` is called when the user selects a candidate. */
  constructor(choose) {
    this.#list = new ChoiceList(byId("candidates"), choose);
  }

  /** Switch to another sentence's candidates; `show` puts them in order. */
  open(candidates) {
    this.#entries = new Map(candidates.map((candidate) => [candidate.index, entryOf(candidate)]));
    byId("candidates-scroll").scrollTop = 0;
  }

  /** Show what `rank` returned. */
  show({ ranking, rejected }) {
    const entries = ranking.map((ranked, place) => {
      const entry = this.#entries.get(ranked.index);
      fill(entry, ranked, place, ranking);
      return entry;
    });
    byId("candidates-scroll").hidden = entries.length === 0;
    this.#list.show(entries);
    showRejected(rejected);
  }

  /** Mark the selected candidate. */
  activate(index, isFollowed) {
    this.#list.activate(index, isFollowed);
  }
}

function entryOf(candidate) {
  const { index, parser_score: parserScore, repaired } = candidate;
  const badge = repaired ? [" ", element("span", { class: "badge" }, "repaired")] : [];
  return option(
    "candidate",
    index,
    element("span", { class: "rank" }),
    element("span", { class: "place" }, ordinal(index), ...badge),
    element("span", { class: "score" }),
    element("span", { class: "behind" }),
    element("span", {}, perplexityOf(candidate)),
    element("span", {}, parserScore === null ? "–" : minus(parserScore, 1)),
  );
}

function fill(entry, { candidate, score, duplicateOf }, place, ranking) {
  const [rankCell, , scoreCell, behindCell] = entry.children;
  const isDuplicate = duplicateOf !== null;
  const isAlone = ranking.length === 1;
  const behind = ranking[0].score - score;
  rankCell.textContent = isDuplicate ? "=" : String(place + 1);
  scoreCell.textContent = minus(score, 2);
  scoreCell.title = score;
  behindCell.textContent = isAlone ? "" : behind === 0 ? "0" : nats(behind);
  entry.classList.toggle("duplicate", isDuplicate);
  entry.title = isDuplicate ? `Same tokens as the ${parsers(duplicateOf)}` : "";
  const parts = [
    isDuplicate ? `same as the ${parsers(duplicateOf)}` : `${place + 1}`,
    `the ${parsers(candidate.index)}`,
    candidate.repaired && "repaired",
    `score ${nats(score)}`,
    !isAlone && `${nats(behind)} behind the best`,
    `perplexity ${perplexityOf(candidate)}`,
    candidate.parser_score !== null && `parser score ${minus(candidate.parser_score, 1)}`,
  ];
  entry.setAttribute("aria-label", parts.filter(Boolean).join(", "));
}

function showRejected(rejected) {
  rejected = rejected.filter(({ code }) => code !== "unparsed"); // no candidate: the verdict says it
  byId("rejected").hidden = rejected.length === 0;
  const noun = rejected.length === 1 ? "candidate" : "candidates";
  byId("rejected-title").textContent = `${rejected.length} ${noun} could not be used`;
  byId("rejected-list").replaceChildren(
    ...rejected.map(({ index, code, message }) => {
      const reason =
        code === "no-score" ? "It has no parser score, so it is ranked at weight 1 only." : message;
      const place = element("b", {}, ordinal(index));
      return element("li", {}, place, ` ${reason} `, element("code", {}, code));
    }),
  );
}
