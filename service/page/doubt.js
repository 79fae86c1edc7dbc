// The doubt about the best tree in the server's words, and a button for the tree that reads it otherwise.

import { element } from "./elements.js";

/** Fill `place`; `compared` is the candidate beside the best tree, if any, and `choose(index)` puts one there. */
export function showDoubt(place, { doubt, best_index: doubted, written, isForeign }, { best }, compared, choose) {
  place.replaceChildren();
  if (!doubt || isForeign || best?.index !== doubted) return;
  const { lang, dir } = written;
  place.append(...doubt.parts.map((part, at) => (at % 2 ? element("em", { lang, dir }, part) : part)));
  if (doubt.other === null) return;
  const isShown = compared === doubt.other;
  const button = element("button", { type: "button", class: "link", id: "other-reading" });
  button.textContent = isShown ? "Hide the other reading" : "Show the other reading";
  button.addEventListener("click", () => {
    choose(isShown ? best.index : doubt.other);
    document.getElementById("other-reading")?.focus({ preventScroll: true });
  });
  place.append(" ", button);
}
