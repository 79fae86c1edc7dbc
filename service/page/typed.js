// Trees in brackets, typed where a text is expected.

/** Whether a text is trees: it begins with two brackets, or with one and its word. */
export const looksLikeTrees = (text) => /^\s*\(\s*(?:[^\s()]*\s*\(|[^\s()]+\s+[^\s()]+\s*\)\s*$)/.test(text);

/** Whether a file is a text to parse: it has no tree, and no line of a format for n-best lists. */
export const looksLikeText = (text) =>
  !looksLikeTrees(text) && !/\([^\s()]*\s*\(|^[ \t]*[{[]|\|\|\||^(?:[A-Z]-)?\d+\t/m.test(text);

/** The first bracket that closes nothing, or that nothing closes, as {start, end, message}, or null. */
export function faultIn(text) {
  const open = [];
  for (const { 0: bracket, index } of text.matchAll(/[()]/g)) {
    if (bracket === "(") open.push(index);
    else if (open.pop() === undefined) return fault(text, index, "closes nothing");
  }
  return open.length ? fault(text, open[0], `is not closed; “${")".repeat(open.length)}” is missing`) : null;
}

function fault(text, start, what) {
  const before = text.slice(Math.max(0, start - 12), start).trimStart();
  const shown = `${before}${text.slice(start, start + 12)}`.replaceAll(/\s+/g, " ").trim();
  return { start, end: start + 1, message: `The bracket that is marked, in “${shown}”, ${what}.` };
}
