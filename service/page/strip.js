// The heat strip: the cost of every token of two trees, aligned by word, and the difference.

import { element } from "./elements.js";
import { isClosing, isOpening, isWord } from "./trees.js";
import { signed } from "./wording.js";

// Upper ends of the shades, in nats for each model; the last shade has none.
export const SHADES = [0.1, 0.5, 1, 2, 4, 8];
const HIGHEST_BAR = 26; // pixels

/** The shade of a surprisal, from 0 to SHADES.length. */
export function shade(surprisal, models) {
  const place = SHADES.findIndex((end) => surprisal / models < end);
  return place < 0 ? SHADES.length : place;
}

/**
 * For every word, and last for the end of the tree, its tokens: the brackets that open before it,
 * itself, those that close behind it. A token is {text, surprisal (nats), place}.
 */
export function byWord(candidate, words) {
  const columns = Array.from({ length: words + 1 }, () => []);
  let word = 0;
  candidate.token_scores.forEach(([text, logProbability], place) => {
    const column = isClosing(text) ? Math.max(0, word - 1) : Math.min(word, words);
    columns[column].push({ text, surprisal: 0 - logProbability, place });
    if (!isOpening(text) && !isClosing(text)) word += 1;
  });
  return columns;
}

/** For every column, how many nats more the second tree costs than the first. */
export function gains(first, second) {
  return first.map((tokens, column) => total(second[column]) - total(tokens));
}

const total = (tokens) => tokens.reduce((sum, token) => sum + token.surprisal, 0);

/** Scroll a strip to the first column where its two rows differ noticeably. */
export function scrollToGain(scroller) {
  const values = [...scroller.querySelectorAll(".gains .value")];
  const first = values.find((value) => value.textContent)?.closest("td");
  const name = scroller.querySelector("th");
  if (!first) return void (scroller.scrollLeft = 0);
  const isMirrored = scroller.dir === "rtl"; // then scrollLeft counts from the right, below 0
  const { offsetLeft, offsetWidth, offsetParent } = first;
  const start = isMirrored ? offsetParent.offsetWidth - offsetLeft - offsetWidth : offsetLeft;
  const isSeen = start < scroller.clientWidth - 3 * offsetWidth;
  const target = isSeen ? 0 : start - name.offsetWidth - offsetWidth;
  scroller.scrollLeft = isMirrored ? -target : target;
}

/**
 * Fill `table` with a row for each of one or two trees, and the difference of two.
 *
 * `rows` are {name, className, candidate, tree}. `onPoint(row, token or null)` is called when a
 * token is pointed at or focused. `lang` is the words' language, or null.
 */
export function fillStrip(table, rows, models, lang, onPoint) {
  const words = rows[0].tree.leaves.length;
  const columns = rows.map((row) => byWord(row.candidate, words));
  const lines = rows.map((row, place) => tokenLine(row, columns[place], models, lang, onPoint));
  if (rows.length === 2) lines.push(gainLine(rows, gains(columns[0], columns[1])));
  table.replaceChildren(element("tbody", {}, ...lines));
  table.querySelector("button")?.setAttribute("tabindex", "0");
}

function tokenLine(row, columns, models, lang, onPoint) {
  const cells = columns.map((tokens) =>
    element("td", {}, ...tokens.map((token) => chip(row, token, models, lang, onPoint))),
  );
  const sum = columns.reduce((all, tokens) => all + total(tokens), 0);
  return element("tr", {}, head(row.name, row.className), ...cells, sumCell(sum.toFixed(2)));
}

function chip(row, token, models, lang, onPoint) {
  const isBracket = isOpening(token.text) || isClosing(token.text);
  const button = element(
    "button",
    {
      type: "button",
      tabindex: "-1",
      lang: isWord(token.text) ? lang : null,
      class: `chip heat${shade(token.surprisal, models)} ${isBracket ? "bracket" : "spoken"}`,
      "aria-label": `${token.text}, ${token.surprisal.toFixed(2)} nats`,
    },
    // The label of a closing bracket is clear from the tree, and shown when pointed at.
    isClosing(token.text) ? ")" : token.text,
  );
  button.addEventListener("pointerenter", () => onPoint(row, token));
  button.addEventListener("focus", () => onPoint(row, token));
  return button;
}

function gainLine(rows, values) {
  const highest = Math.max(1e-9, ...values.map(Math.abs));
  const cells = values.map((value) => {
    const bar = element("span", { class: "bar" });
    bar.style.height = `${(Math.abs(value) / highest) * HIGHEST_BAR}px`;
    const shown = Math.abs(value) < 0.05 ? "" : signed(value, 1);
    const text = element("bdi", { class: "value" }, shown);
    const side = element("span", { class: value >= 0 ? "gain" : "loss" }, bar, text);
    return element("td", {}, side);
  });
  const sum = values.reduce((all, value) => all + value, 0);
  const name = head("difference", "");
  return element("tr", { class: "gains" }, name, ...cells, sumCell(signed(sum, 2)));
}

const head = (name, className) => element("th", { scope: "row", class: className }, name);
const sumCell = (text) => element("td", { class: "sum" }, element("bdi", {}, text));

/** Arrow keys move through the tokens of a strip, Home and End to the ends of a row. */
export function onStripKey(event) {
  const current = event.target.closest?.("button.chip");
  if (!current) return;
  const row = [...current.closest("tr").querySelectorAll("button")];
  const at = row.indexOf(current);
  const right = getComputedStyle(current).direction === "rtl" ? -1 : 1;
  const target = {
    ArrowLeft: () => row[at - right],
    ArrowRight: () => row[at + right],
    Home: () => row[0],
    End: () => row[row.length - 1],
    ArrowUp: () => vertical(current, -1),
    ArrowDown: () => vertical(current, 1),
  }[event.key]?.();
  if (!target) return;
  event.preventDefault();
  current.tabIndex = -1;
  target.tabIndex = 0;
  target.focus();
}

function vertical(current, step) {
  const cell = current.closest("td");
  const row = [...cell.parentNode.parentNode.children];
  const other = row[row.indexOf(cell.parentNode) + step];
  return other?.children[cell.cellIndex].querySelector("button");
}
