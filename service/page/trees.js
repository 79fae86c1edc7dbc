// Tokens -> trees to draw, and the constituents that only one of two trees has.

const PRETERMINAL = /\(\s*([^()\s]+)\s+((?:[^()\s\\]|\\[()]?)+)\s*\)/g;
const TRACE = "-NONE-";
const EOS = "<eos>";

export const isOpening = (token) => token[0] === "(";
export const isClosing = (token) => token[0] === ")";
export const isWord = (token) => !isOpening(token) && !isClosing(token) && token !== EOS;

const known = new WeakMap();

/** The tree of a candidate, built once. */
export function treeFor(candidate) {
  if (!known.has(candidate)) known.set(candidate, treeOf(candidate));
  return known.get(candidate);
}

/**
 * The tree a language model reads: {root, leaves, nodes}, spans half-open in words.
 *
 * It is built from the tokens, which are the same for every dialect; part-of-speech tags come from
 * the candidate's text if that has them. A node knows its `label` (a leaf its `word` and `tag`),
 * `start`, `end`, `height` above the words and its tokens' places, `opening` and `closing`.
 */
function treeOf(candidate) {
  const tokens = candidate.token_scores.map(([token]) => token);
  const top = { label: "TOP", children: [], start: 0 };
  const open = [top];
  const leaves = [];
  tokens.forEach((token, place) => {
    const parent = open[open.length - 1];
    if (isOpening(token)) {
      const node = { label: token.slice(1), children: [], start: leaves.length, opening: place };
      parent.children.push(node);
      open.push(node);
    } else if (isClosing(token)) {
      if (open.length > 1) close(open.pop(), leaves.length, place);
    } else if (isWord(token) || place < tokens.length - 1) {
      const start = leaves.length;
      const leaf = { word: token, tag: "", start, end: start + 1, height: 0, opening: place };
      parent.children.push(leaf);
      leaves.push(leaf);
    }
  });
  while (open.length) close(open.pop(), leaves.length, null);
  const [only] = top.children;
  const root = top.children.length === 1 && only.children ? only : top;
  const tags = tagsOf(candidate.tree ?? "", leaves, tokens);
  leaves.forEach((leaf, place) => (leaf.tag = tags[place] ?? ""));
  return { root, leaves, nodes: [...preorder(root)] };
}

function close(node, end, place) {
  node.end = end;
  node.closing = place;
  node.height = 1 + Math.max(0, ...node.children.map((child) => child.height));
}

function* preorder(root) {
  const stack = [root];
  while (stack.length) {
    const node = stack.pop();
    if (!node.children) continue;
    yield node;
    stack.push(...node.children.toReversed());
  }
}

function tagsOf(text, leaves, tokens) {
  // With part-of-speech nodes a text opens a bracket for every word besides those of the tokens;
  // without them "(NP Monday)" would look like one.
  const openings = text.split("(").length - 1;
  if (openings < leaves.length + tokens.filter(isOpening).length) return [];
  const tagged = [...text.matchAll(PRETERMINAL)].filter(([, tag]) => tag !== TRACE);
  return tagged.length === leaves.length ? tagged.map(([, tag]) => tag) : [];
}

/** The constituents of `tree` that `other` lacks, by label and span; repeated ones are counted. */
export function constituentsMissingIn(other, tree) {
  const key = (node) => `${node.start} ${node.end} ${node.label}`;
  const left = new Map();
  for (const node of other.nodes) left.set(key(node), (left.get(key(node)) ?? 0) + 1);
  return new Set(
    tree.nodes.filter((node) => {
      const count = left.get(key(node)) ?? 0;
      left.set(key(node), count - 1);
      return count <= 0;
    }),
  );
}
