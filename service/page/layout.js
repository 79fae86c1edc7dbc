// Positions of the nodes of trees. Words are in a row at the bottom, a constituent is one level
// above its highest child and centred over its children. Trees of a sentence share their columns,
// so that a word has the same position in all of them.

import { DOUBTFUL } from "./wording.js";

// As in page.css for .word, .label and .tag.
const FONTS = {
  word: ["15.5px", "--serif"],
  label: ["600 11.5px", "--sans"],
  tag: ["10.5px", "--sans"],
};
export const LEVEL = 28; // from one height to the next, in pixels
const LABEL_PADDING = 5; // beside a label
const SHARE_WIDTH = 28; // of "82 %" behind a label
const WORD_GAP = 11;
const LEAF_HEIGHT = 40; // tag and word
const MARGIN = 12;

const context = document.createElement("canvas").getContext("2d");
const measured = new Map();

/** Width in pixels of a text set as a word, label or tag. */
function widthOf(text, font) {
  const key = font + text;
  if (!measured.has(key)) {
    if (measured.size > 50_000) measured.clear();
    const [size, family] = FONTS[font];
    const style = getComputedStyle(document.documentElement);
    context.font = `${size} ${style.getPropertyValue(family)}`;
    measured.set(key, context.measureText(text).width);
  }
  return measured.get(key);
}

/** Width of what is behind a node's label: how probable it is, if that is in doubt. */
export const sideWidth = ({ probability }) => (probability !== null && probability < DOUBTFUL ? SHARE_WIDTH : 0);

/** Width of a node's box. */
export const boxWidth = (node) => widthOf(node.label, "label") + 2 * LABEL_PADDING + sideWidth(node);

/** Give every node of the trees its x and y; returns the size needed for all of them. From "rtl" the first
 *  word is at the right. */
export function layOut(trees, direction) {
  const count = Math.max(...trees.map((tree) => tree.leaves.length));
  const columns = new Array(count).fill(0);
  for (const tree of trees) {
    tree.leaves.forEach((leaf, place) => {
      const width = Math.max(widthOf(leaf.word, "word"), widthOf(leaf.tag, "tag"));
      columns[place] = Math.max(columns[place], width + WORD_GAP);
    });
  }
  for (const tree of trees) {
    for (const node of tree.nodes) {
      const wanted = boxWidth(node) + 4;
      const width = columns.slice(node.start, node.end).reduce((sum, column) => sum + column, 0);
      if (width < wanted && node.end > node.start) columns[node.end - 1] += wanted - width;
    }
  }
  const edges = [MARGIN]; // edges[i] is where column i begins in reading
  for (const width of columns) edges.push(edges[edges.length - 1] + width);
  const highest = Math.max(...trees.map((tree) => tree.root.height));
  const bottom = MARGIN + highest * LEVEL;
  for (const tree of trees) {
    for (const leaf of tree.leaves) {
      leaf.x = (edges[leaf.start] + edges[leaf.end]) / 2;
      leaf.y = bottom;
    }
    // Backwards: children come after their parents.
    for (const node of tree.nodes.toReversed()) settle(node, edges, bottom);
  }
  const width = edges[count] + MARGIN;
  if (direction === "rtl") {
    for (const tree of trees) for (const node of [...tree.nodes, ...tree.leaves]) node.x = width - node.x;
    edges.forEach((edge, place) => (edges[place] = width - edge));
  }
  return { width, height: bottom + LEAF_HEIGHT + MARGIN, edges };
}

function settle(node, edges, bottom) {
  const { children } = node;
  const half = boxWidth(node) / 2;
  const middle = children.length
    ? (children[0].x + children[children.length - 1].x) / 2
    : edges[node.start];
  node.x = Math.max(edges[node.start] + half, Math.min(middle, edges[node.end] - half));
  node.y = bottom - node.height * LEVEL + LEVEL / 2;
}
