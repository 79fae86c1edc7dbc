// On narrow screens the verdict and the trees come before everything else, for the keyboard and for
// screen readers too.

import { byId } from "./elements.js";

const WIDE = ["toolbar", "notes", "side", "reading"];
const NARROW = ["notes", "reading", "side", "toolbar"];

/** Put the parts of the results in the order that suits the screen, now and when it changes. */
export function keepVerdictFirst() {
  const narrow = matchMedia("(max-width: 64rem)"); // as in page.css
  const arrange = () => byId("results").append(...(narrow.matches ? NARROW : WIDE).map(byId));
  narrow.addEventListener("change", arrange);
  arrange();
}
