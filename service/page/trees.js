// The trees that the server has drawn, and the constituents that only one of two trees has.

import { svg } from "./elements.js";
import { percent } from "./wording.js";

const known = new WeakMap();

/**
 * The tree of a candidate as the server has drawn it: {picture, nodes, leaves, width, height}. A node
 * has `label`, `start` and `end` in words, `probability` or null, and `children`, its nodes; a leaf has
 * `word`, `tag`, `start` and `end`. Their `parts` are elements of the picture. Read once.
 */
export function treeFor(candidate) {
  if (!known.has(candidate)) known.set(candidate, read(candidate.svg));
  return known.get(candidate);
}

function read(text) {
  const drawn = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const picture = document.importNode(drawn, true);
  const [width, height] = ["width", "height"].map((name) => Number(picture.getAttribute(name)));
  const branches = picture.querySelectorAll(".branches path");
  const nodes = [...picture.querySelectorAll(".node")].map((group, place) => {
    const [start, end] = group.dataset.words.split(" ").map(Number);
    const probability = group.dataset.probability === undefined ? null : Number(group.dataset.probability);
    const label = group.querySelector(".label").textContent;
    if (probability !== null) group.append(svg("title", {}, `${label}: ${percent(probability)} sure`));
    return { label, start, end, probability, children: [], parts: [group, branches[place]] };
  });
  const open = [];
  for (const node of nodes) {
    while (open.length && open.at(-1).end <= node.start) open.pop();
    open.at(-1)?.children.push(node);
    open.push(node);
  }
  const leaves = [...picture.querySelectorAll(".leaf")].map((group, start) => {
    const [tag, word] = [...group.children].map((text) => text.textContent);
    return { word, tag, start, end: start + 1, parts: [group] };
  });
  return { picture, nodes, leaves, width, height };
}

/** Take from a tree how probable its nodes are. */
export function forgetProbabilities({ picture, nodes }) {
  for (const number of picture.querySelectorAll(".share, title")) number.remove();
  for (const shape of picture.querySelectorAll("[opacity]")) shape.removeAttribute("opacity");
  for (const node of nodes) node.probability = null;
}

/** The constituents of `tree` that `other` lacks, by label and span; repeated ones are counted. */
export function constituentsMissingIn(other, tree) {
  const key = (node) => `${node.start} ${node.end} ${node.label}`;
  const left = new Map();
  for (const node of other.nodes) left.set(key(node), (left.get(key(node)) ?? 0) + 1);
  return new Set(
    tree.nodes.filter((node) => {
      const count = left.get(key(node)) ?? 0;
      left.set(key(node), count - 1);
      return count <= 0;
    }),
  );
}
