// A sentence as it was written, with its words as elements, so that trees can point at them.

import { element, setAll } from "./elements.js";

/**
 * Show a sentence in `place`; returns an element for each word, none where only the words are known
 * and not the text that they come from.
 */
export function showOriginal(place, { words, written, origin }) {
  setAll(place, written);
  if (!origin?.offsets.length) {
    place.textContent = words;
    return [];
  }
  const characters = [...origin.text]; // offsets count these, not UTF-16's units
  const [[first]] = origin.offsets;
  const parts = [];
  const spans = [];
  let end = 0;
  for (const [from, to] of origin.offsets.map((pair) => pair.map((offset) => offset - first))) {
    if (from > end) parts.push(characters.slice(end, from).join(""));
    const span = element("span", { "data-word": spans.length }, characters.slice(from, to).join(""));
    spans.push(span);
    parts.push(span);
    end = to;
  }
  place.replaceChildren(...parts, characters.slice(end).join(""));
  return spans;
}
