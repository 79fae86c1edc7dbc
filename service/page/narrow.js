// On narrow screens the trees come before the list of sentences, for the keyboard and for
// screen readers too.

import { byId } from "./elements.js";

const WIDE = ["notes", "side", "reading"];
const NARROW = ["notes", "reading", "side"];

/** Put the parts of the results in the order that suits the screen, now and when it changes. */
export function keepTreesFirst() {
  const narrow = matchMedia("(max-width: 64rem)"); // as in page.css
  const arrange = () => byId("results").append(...(narrow.matches ? NARROW : WIDE).map(byId));
  narrow.addEventListener("change", arrange);
  arrange();
}
