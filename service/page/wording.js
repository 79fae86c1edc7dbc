// Numbers and places as text.

/** "1st" for index 0. */
export function ordinal(index) {
  const place = index + 1;
  const isTeen = Math.floor(place / 10) % 10 === 1;
  return place + ((!isTeen && { 1: "st", 2: "nd", 3: "rd" }[place % 10]) || "th");
}

/** A candidate by its place in the parser's list: "parser’s first", "parser’s 2nd". */
export const parsers = (index) => `parser’s ${index === 0 ? "first" : ordinal(index)}`;

/** Fixed decimals, with a minus sign that is as wide as a digit. */
export const minus = (value, digits) => fixed(value, digits).replace("-", "\u2212");

const fixed = (value, digits) =>
  Math.abs(value) < 1e6 ? value.toFixed(digits) : value.toExponential(1).replace("+", "");

/** The same with a sign before positive numbers too. */
export function signed(value, digits) {
  const text = fixed(Math.abs(value), digits).replace("Infinity", "∞");
  return Number(text) === 0 ? text : (value < 0 ? "\u2212" : "+") + text;
}

/** The language models' perplexity of a candidate, per word; of span models alone there is none. */
export const perplexityOf = (candidate) =>
  candidate.span_nll === candidate.nll ? "–" : shortNumber(candidate.perplexity);

/** null: too large for a number. */
function shortNumber(value) {
  if (value === null) return "∞";
  if (value >= 1e6) return value.toExponential(1).replace("+", "");
  return value.toFixed(value >= 1000 ? 0 : value >= 100 ? 1 : 2);
}

/** A difference in nats. Huge ones are rounded, and those too large for a number are infinite. */
export function nats(value) {
  if (Math.abs(value) === Infinity) return "∞";
  return Math.abs(value) < 1e6 ? value.toFixed(2) : value.toExponential(1).replace("+", "");
}

/** "1 sentence", "2 sentences". */
export const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** A bracket that is less probable has its number beside it. */
export const DOUBTFUL = 0.9;

/** A probability. */
export function percent(probability) {
  if (probability > 0.99) return "more than 99%";
  if (probability < 0.01) return "less than 1%";
  return `${Math.round(100 * probability)}%`;
}
