// Gold trees: brackets right and wrong, counted as EVALB does under COLLINS' settings with gold
// part-of-speech tags (`--gold-tags`). tests/service/page/test_gold.py holds the counts equal to
// those of reranker.evaluation.

const ROOTS = new Set(["", "S1", "TOP", "ROOT"]);
const DELETED = new Set(["TOP", "-NONE-", ",", ":", "``", "''", "."]);
const TRACE = "-NONE-";
const SPELLINGS = {
  "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
}; // prettier-ignore
const NOTHING = { matched: 0, gold: 0, test: 0 };

/** What cannot be read, in words for the user. */
export class GoldError extends Error {}

/** Gold trees of a text, by their words. */
export class GoldStandard {
  #byWords = new Map();

  /** Raises GoldError. */
  constructor(text) {
    for (const tree of treesOf(text)) this.#byWords.set(keyOf(tree.leaves), tree);
    if (!this.#byWords.size) throw new GoldError("No tree was found in this text.");
  }

  get size() {
    return this.#byWords.size;
  }

  /** The gold tree of the sentence that a tree of treeOf is of, or null. */
  of(tree) {
    return this.#byWords.get(keyOf(tree.leaves)) ?? null;
  }
}

/**
 * A tree against the gold tree of its sentence: {matched, gold, test} brackets, `right`, which says
 * of each node that counts whether it is right, and `missing`, the gold constituents it lacks.
 */
export function judge(gold, tree) {
  const kept = [0]; // kept[i] words of the first i count
  for (const { tag } of gold.leaves) kept.push(kept.at(-1) + !DELETED.has(tag));
  const left = new Map();
  const wanted = [];
  for (const node of gold.nodes) {
    const key = keyOfBracket(node, kept);
    if (!key) continue;
    left.set(key, (left.get(key) ?? 0) + 1);
    wanted.push([key, node]);
  }
  const right = new Map();
  for (const node of tree.nodes) {
    const key = keyOfBracket(node, kept);
    if (!key) continue;
    const count = left.get(key) ?? 0;
    right.set(node, count > 0);
    if (count > 0) left.set(key, count - 1);
  }
  const missing = wanted.toReversed().flatMap(([key, node]) => {
    if (!left.get(key)) return [];
    left.set(key, left.get(key) - 1);
    return [node];
  });
  const matched = [...right.values()].filter(Boolean).length;
  return { matched, gold: wanted.length, test: right.size, right, missing: missing.reverse() };
}

/** F1 in percent. */
export const f1 = ({ matched, gold, test }) =>
  gold + test === 0 ? 100 : (200 * matched) / (gold + test);

/** Counts of several sentences, added up as EVALB does for its last line. */
export const total = (counts) =>
  counts.reduce(
    (sum, each) => ({
      matched: sum.matched + each.matched,
      gold: sum.gold + each.gold,
      test: sum.test + each.test,
    }),
    NOTHING,
  );

function keyOfBracket({ start, end, label }, kept) {
  const cut = label.split("-")[0].split("=")[0];
  const standard = cut === "PRT" ? "ADVP" : cut;
  if (DELETED.has(standard) || kept[start] === kept[end]) return null;
  return `${kept[start]} ${kept[end]} ${standard}`;
}

const keyOf = (leaves) => leaves.map(({ word }) => spelling(word)).join(" ");
const spelling = (word) => SPELLINGS[word] ?? word.replace(/\\([/*()])/g, "$1");

// Trees in brackets, one after another: {nodes, leaves} with spans in words, without traces.
function treesOf(text) {
  const trees = [];
  let tree = null;
  let line = 1;
  const open = [];
  for (const [piece] of text.matchAll(/\n|\(\s*(?:[^()\s]+\s+[^()\s]+\s*\)|[^()\s]*)|\)|[^()\s]+/g)) {
    const at = line;
    line += piece.split("\n").length - 1;
    if (piece === "\n") continue;
    if (piece !== ")" && piece[0] !== "(") {
      throw new GoldError(`Line ${at}: “${piece.slice(0, 40)}” is not in brackets with a tag.`);
    }
    if (piece === ")") {
      if (!open.length) throw new GoldError(`Line ${at}: a closing bracket too many.`);
      open.pop().end = tree.leaves.length;
      if (!open.length) trees.push(tree);
      continue;
    }
    if (!open.length) tree = { nodes: [], leaves: [], line: at };
    const [label, word] = piece.replace(/[()]/g, " ").trim().split(/\s+/);
    if (word === undefined) {
      const node = { label, start: tree.leaves.length };
      const isRoot = !open.length && ROOTS.has(label);
      open.push(node);
      if (!isRoot) tree.nodes.push(node);
    } else if (label !== TRACE) {
      tree.leaves.push({ tag: label, word });
    }
    if (word !== undefined && !open.length) trees.push(tree);
  }
  if (open.length) throw new GoldError(`Line ${tree.line}: this tree is not closed.`);
  return trees;
}
