// What can be done with a tree: copy its brackets, save its picture.

import { copyOnClick } from "./clipboard.js";
import { saveBlob } from "./downloads.js";
import { element } from "./elements.js";
import { pngOf, svgText } from "./picture.js";

/** Buttons for a tree; `shown()` returns its {candidate, picture, fileName} when one is pressed. */
export function actionsFor(which, shown) {
  const button = (text, label) =>
    element("button", { type: "button", class: "small", "aria-label": `${label}: ${which}` }, text);
  const copy = button("Copy", "Copy brackets");
  copyOnClick(copy, () => shown().candidate.tree);
  const asSvg = button("SVG", "Save picture as SVG");
  asSvg.addEventListener("click", () => {
    const { picture, fileName } = shown();
    saveBlob(new Blob([svgText(picture)], { type: "image/svg+xml" }), `${fileName}.svg`);
  });
  const asPng = button("PNG", "Save picture as PNG");
  asPng.addEventListener("click", async () => {
    const { picture, fileName } = shown();
    saveBlob(await pngOf(picture), `${fileName}.png`);
  });
  return element("div", { class: "actions" }, copy, asSvg, asPng);
}
