// The least sure bracket of the best tree in words, and a tree that reads it otherwise: what
// reranker/ranking/doubt.py says for the best tree at weight 1 (tests/reranker/ranking/test_doubt.py).

import { probabilityOf } from "./answer.js";
import { element } from "./elements.js";
import { treeFor } from "./trees.js";
import { percent } from "./wording.js";

const SURE = 0.99; // a bracket that is more probable is not in doubt
const MOST_NAMED = 5; // words that what a phrase goes with may have
const MOST_QUOTED = 9;
const LEAST = 1 / 3; // of what the bracket leaves; else the doubt is about something else
const NAMES = {
  S: "a clause",
  SBAR: "a subordinate clause",
  NP: "a noun phrase",
  VP: "a verb phrase",
  PP: "a prepositional phrase",
  ADJP: "an adjective phrase",
  ADVP: "an adverb phrase",
};

/** Fill `place`; `compared` is the candidate beside the best tree, if any, and `choose(index)` puts one there. */
export function showDoubt(place, sentence, order, compared, choose) {
  const doubt = doubtOf(sentence, order);
  if (!doubt) return place.replaceChildren();
  const { lang, dir } = sentence.written;
  const quote = (text) => element("em", { lang, dir }, text);
  const said = doubt.said.map((part) => (typeof part === "string" ? part : quote(part.words)));
  place.replaceChildren(...said);
  if (doubt.other === null) return;
  const isShown = compared === doubt.other;
  const button = element("button", { type: "button", class: "link", id: "other-reading" });
  button.textContent = isShown ? "Hide the other reading" : "Show the other reading";
  button.addEventListener("click", () => {
    choose(isShown ? order.best.index : doubt.other);
    document.getElementById("other-reading")?.focus({ preventScroll: true });
  });
  place.append(" ", button);
}

/** {said, other}: a sentence, in which {words} are quoted, and the index of a candidate without the
 *  bracket, or null; null where no bracket is in doubt. */
export function doubtOf(sentence, { best, ranking }) {
  if (!best || !sentence.brackets) return null;
  const tree = treeFor(best.candidate);
  const sure = (node) => probabilityOf(node, sentence) ?? 1;
  const node = tree.nodes.reduce((least, each) => (sure(each) < sure(least) ? each : least), tree.root);
  if (sure(node) > SURE) return null;
  const others = ranking
    .map(({ candidate, index }) => ({ index, tree: treeFor(candidate), weight: Math.exp(candidate.parser_score) }))
    .filter((other) => !other.tree.nodes.some((each) => isSame(each, node)));
  const quoted = (start, end) => ({ words: wordsOf(sentence, tree, start, end) });
  const said = [quoted(node.start, node.end), ` is ${name(node.label)}: ${percent(sure(node))}.`];
  return label(node, others, sentence, quoted) ?? attachment(node, others, sure(node), quoted) ?? { said, other: others[0]?.index ?? null };
}

// "ice cream is a noun phrase: 82 %, a clause: 9 %."
function label(node, others, sentence, quoted) {
  const other = others.reduce((most, each) => (most?.weight >= each.weight ? most : each), null);
  const here = other?.tree.nodes.filter(({ start, end }) => start === node.start && end === node.end) ?? [];
  if (here.length !== 1) return null;
  const [first, second] = [node, ...here].map((each) => `${name(each.label)}: ${percent(probabilityOf(each, sentence))}`);
  return { said: [quoted(node.start, node.end), ` is ${first}, ${second}.`], other: other.index };
}

// "with the telescope goes with the man: 81 %, with saw: 11 %." The candidates without the bracket
// share what it leaves.
function attachment(node, others, probability, quoted) {
  const part = node.children.at(-1);
  const here = part.children && headOf(node, part);
  if (!here) return null;
  const groups = new Map();
  let sum = 0;
  for (const { index, tree, weight } of others) {
    sum += weight;
    const parent = parentOf(tree, part);
    const head = parent && headOf(parent, part);
    if (!head || String(head) === String(here)) continue;
    const group = groups.get(String(head)) ?? { head, index, weight: 0 };
    group.weight += weight;
    groups.set(String(head), group);
  }
  const [most] = [...groups.values()].sort((a, b) => b.weight - a.weight);
  if (!most || most.weight < LEAST * sum) return null;
  const shares = [probability, ((1 - probability) * most.weight) / sum].map(percent);
  const said = [quoted(part.start, part.end), " goes with ", quoted(...here), `: ${shares[0]}, with `, quoted(...most.head), `: ${shares[1]}.`]; // prettier-ignore
  return { said, other: most.index };
}

const isSame = (a, b) => a.start === b.start && a.end === b.end && a.label === b.label;
const name = (tag) => NAMES[tag.split(/[-=]/)[0]] ?? tag;

const parentOf = (tree, part) => tree.nodes.find(({ children }) => children.some((child) => isSame(child, part)));

/** What a part goes with in its parent, as the span of a few words: the verb of a verb phrase, else what
 *  stands before the part. */
function headOf(parent, part) {
  const verb = parent.label.startsWith("VP") && parent.children.find(({ tag }) => tag?.startsWith("V"));
  if (verb) return [verb.start, verb.end];
  if (/^(SBAR|PP|WH)/.test(parent.label)) return null; // a word such as "that" says too little
  const length = part.start - parent.start;
  return length > 0 && length <= MOST_NAMED ? [parent.start, part.start] : null;
}

function wordsOf({ origin }, { leaves }, start, end) {
  if (end - start > MOST_QUOTED) {
    const half = Math.floor(MOST_QUOTED / 2);
    return [[start, start + half], [end - half, end]].map(([a, b]) => wordsOf({ origin }, { leaves }, a, b)).join(" … "); // prettier-ignore
  }
  const { text, offsets } = origin ?? {};
  if (!offsets?.length) return leaves.slice(start, end).map(({ word }) => word).join(" "); // prettier-ignore
  const [[first]] = offsets;
  return [...text].slice(offsets[start][0] - first, offsets[end - 1][1] - first).join("");
}
