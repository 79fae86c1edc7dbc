// A tree as an outline, for a screen that is too narrow for its drawing.

import { element } from "./elements.js";
import { DOUBTFUL, percent } from "./wording.js";

/** A tree that draw() has drawn, as nested lists; `marked` are the nodes to highlight. */
export function outline(tree, marked, written) {
  return element("ul", { class: "outline" }, entry(tree.root, marked, written));
}

function entry(node, marked, written) {
  const isMarked = marked.has(node);
  const name = element("b", { class: isMarked ? "own" : null }, node.label);
  const isDoubtful = node.probability !== null && node.probability < DOUBTFUL;
  const number = isDoubtful ? [" ", element("small", {}, percent(node.probability))] : [];
  const first = node.children.findIndex(({ children }) => children);
  const [before, after] = first < 0 ? [node.children, []] : [node.children.slice(0, first), node.children.slice(first)];
  const rows = after.map((child) => (child.children ? entry(child, marked, written) : element("li", {}, words([child], written))));
  const inside = rows.length ? [element("ul", {}, ...rows)] : [];
  return element("li", {}, name, ...number, " ", words(before, written), ...inside);
}

const words = (leaves, written) => element("bdi", written, leaves.map(({ word }) => word).join(" "));
