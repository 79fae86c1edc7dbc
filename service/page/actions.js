// What can be done with a tree: copy its brackets, save its picture.

import { copyOnClick } from "./clipboard.js";
import { saveBlob } from "./downloads.js";
import { element } from "./elements.js";
import { pngOf, svgText } from "./picture.js";

/** Buttons for a tree; `shown()` returns its {candidate, picture, fileName} when one is pressed, and
 *  `view` has fit(), zoom(direction) and fullScreen(). */
export function actionsFor(which, shown, view) {
  const button = (text, label, kind = "small") =>
    element("button", { type: "button", class: kind, "aria-label": `${label}: ${which}`, title: label }, text);
  const changing = (text, label, change) => {
    const made = button(text, label, "small view");
    made.addEventListener("click", change);
    return made;
  };
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
  const views = [
    changing("Fit", "Show the whole tree", () => view.fit()),
    changing("−", "Smaller", () => view.zoom(-1)),
    changing("+", "Larger", () => view.zoom(1)),
    ...(document.fullscreenEnabled ? [changing("Full screen", "Full screen", () => view.fullScreen())] : []),
  ];
  return element("div", { class: "actions" }, ...views, copy, asSvg, asPng);
}
