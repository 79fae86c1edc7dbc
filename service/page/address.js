// What is shown, in the address, so that reload, Back and a shared link show it again. It is in the
// fragment, which browsers do not send to the server, and has no text of the list: that stays in
// this tab (kept.js), unless the user copies a link to a text that was typed.

/**
 * What the address asks for: {list, text, sentence, weight, tree, stacked}. `list` is "" where
 * there is none; `text` is what to parse, in a link that was copied, else ""; `sentence` and `tree` (null: the parser's first) are indices, as in the answer;
 * `stacked` is null where the page decides.
 */
export function readAddress() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const index = (name) => (/^[1-9]\d{0,8}$/.test(fields.get(name)) ? fields.get(name) - 1 : null);
  const weight = fields.get("weight");
  return {
    list: fields.get("list") ?? "",
    text: fields.get("text") ?? "",
    sentence: index("sentence") ?? 0,
    weight: /^(0(\.\d{1,2})?|1)$/.test(weight) ? Number(weight) : 1,
    tree: index("tree"),
    stacked: { yes: true, no: false }[fields.get("stacked")] ?? null,
  };
}

/** A link to what is shown that has the text itself, for another browser. */
export function linkTo(text) {
  const fields = new URLSearchParams(location.hash.slice(1));
  fields.delete("list");
  return `${location.href.split("#")[0]}#${new URLSearchParams({ text })}&${fields}`.replace(/&$/, "");
}

/** Put what is shown into the address. Back undoes a step; anything else replaces what was there. */
export function writeAddress({ list, sentence, weight, tree, stacked }, isStep) {
  const fields = new URLSearchParams();
  if (list) fields.set("list", list);
  if (sentence > 0) fields.set("sentence", sentence + 1);
  if (weight !== 1) fields.set("weight", weight);
  if (tree !== null) fields.set("tree", tree + 1);
  if (stacked !== null) fields.set("stacked", stacked ? "yes" : "no");
  const fragment = `#${fields}`;
  if (fragment === (location.hash || "#")) return;
  if (isStep) history.pushState(null, "", fragment);
  else history.replaceState(null, "", fragment);
}
