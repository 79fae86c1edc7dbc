// The drawings of all sentences, one below the other: as one SVG file, or on paper, which browsers
// also save as PDF.

import { saveBlob } from "./downloads.js";
import { byId, element, svg } from "./elements.js";
import { standalone } from "./picture.js";
import { speakerOf } from "./sentences.js";
import { forgetProbabilities, treeFor } from "./trees.js";

const GAP = 24; // pixels between two drawings

/** Save drawings of trees, {candidate, words, origin, isForeign}, in one picture. */
export function saveSheets(trees) {
  const drawings = trees.map(drawn);
  const sizes = drawings.map((each) => ["width", "height"].map((name) => Number(each.getAttribute(name))));
  let top = 0;
  drawings.forEach((each, place) => {
    each.setAttribute("y", top);
    top += sizes[place][1] + GAP;
  });
  const width = Math.max(...sizes.map(([each]) => each));
  const sheet = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height: top - GAP }, ...drawings);
  const text = new XMLSerializer().serializeToString(sheet);
  saveBlob(new Blob([text], { type: "image/svg+xml" }), "trees.svg");
}

/** Print sentences and drawings, no drawing on two pages; page.css hides the rest. */
export function printSheets(trees) {
  const sheets = byId("sheets");
  sheets.replaceChildren(
    ...trees.map((tree) => element("figure", {}, element("figcaption", {}, ...speakerOf(tree), tree.words), drawn(tree))),
  );
  addEventListener("afterprint", () => sheets.replaceChildren(), { once: true });
  print();
}

/** A drawing as an <svg> of its own. It is measured and styled in the page, out of sight. */
function drawn({ candidate, isForeign }) {
  const tree = treeFor(candidate);
  if (isForeign) forgetProbabilities(tree);
  const host = element("div", { class: "pane chosen printed" }, tree.picture.cloneNode(true));
  host.firstChild.setAttribute("width", tree.width);
  host.firstChild.setAttribute("height", tree.height);
  document.body.append(host);
  const copy = standalone(host.firstChild);
  host.remove();
  return copy;
}
