// How sure each bracket of the best tree is, in words: what a faint label cannot tell everybody.

import { byId, element } from "./elements.js";
import { percent } from "./wording.js";

/** List the brackets of a tree, the least sure first; `point(node)` shows where one is. `words` are
 *  the elements of original.js, `written` as prepared() makes it. */
export function showBrackets(tree, words, written, point) {
  const known = tree.nodes.filter(({ probability }) => probability !== null);
  byId("brackets").hidden = !known.length;
  byId("legend-sure").hidden = !known.length;
  known.sort((a, b) => a.probability - b.probability);
  byId("bracket-list").replaceChildren(...known.map((node) => entry(node, tree, words, written, point)));
}

function entry(node, tree, words, written, point) {
  const text = tree.leaves
    .slice(node.start, node.end)
    .map((leaf) => words[leaf.start]?.textContent ?? leaf.word)
    .join(" ");
  const button = element(
    "button",
    { type: "button" },
    element("b", {}, node.label),
    " ",
    element("bdi", written, text),
    " ",
    element("span", {}, `${percent(node.probability)} sure`),
  );
  for (const kind of ["focus", "pointerenter", "click"]) button.addEventListener(kind, () => point(node));
  return element("li", {}, button);
}
