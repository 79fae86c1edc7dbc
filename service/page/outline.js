// A tree as an outline, for a screen that is too narrow for its drawing.

import { element } from "./elements.js";
import { DOUBTFUL, percent } from "./wording.js";

/** A tree of trees.js as nested lists; `marked` are the nodes to highlight, `written` the words' lang and dir. */
export function outline({ nodes: [root], leaves }, marked, written) {
  const words = (start, end) =>
    element("bdi", written, leaves.slice(start, end).map(({ word }) => word).join(" ")); // prettier-ignore
  const entry = ({ label, probability, children, start, end }, isMarked) => {
    const name = element("b", { class: isMarked ? "own" : null }, label);
    const isDoubtful = probability !== null && probability < DOUBTFUL;
    const number = isDoubtful ? [" ", element("small", {}, percent(probability))] : [];
    const rows = [];
    let at = children[0]?.start ?? end;
    const before = words(start, at);
    for (const child of children) {
      if (child.start > at) rows.push(element("li", {}, words(at, child.start)));
      rows.push(entry(child, marked.has(child)));
      at = child.end;
    }
    if (at < end) rows.push(element("li", {}, words(at, end)));
    const inside = rows.length ? [element("ul", {}, ...rows)] : [];
    return element("li", {}, name, ...number, " ", before, ...inside);
  };
  return element("ul", { class: "outline" }, entry(root, marked.has(root)));
}
