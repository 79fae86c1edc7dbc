// Trees -> SVG.

import { svg } from "./elements.js";
import { LEVEL, boxWidth, sideWidth } from "./layout.js";
import { percent } from "./wording.js";

const LABEL_HALF = 8; // half a label's height
const CORNER = 5;
const FAINTEST_LABEL = 0.62; // opacity that leaves a contrast of 4.5 to 1
const FAINTEST_BRANCH = 0.15;

/**
 * A tree that `layOut` has placed, as an <svg>. `marked` are the nodes to highlight, `otherTags`
 * the leaves whose tag differs. The less `probability` a node has, the fainter it is. Each node gets its drawn group as `node.drawn`. `written` are the words'
 * lang and dir.
 */
export function draw(tree, size, marked, otherTags, written, description) {
  const picture = svg("svg", {
    viewBox: `0 0 ${size.width} ${size.height}`,
    width: size.width,
    height: size.height,
    role: "img",
    "aria-label": description,
  });
  // Marked branches last, so that they are drawn over the others.
  for (const node of tree.nodes) if (!marked.has(node)) picture.append(branches(node, "branch"));
  for (const node of tree.nodes) if (marked.has(node)) picture.append(branches(node, "branch own"));
  for (const node of tree.nodes) picture.append(label(node, marked.has(node)));
  for (const leaf of tree.leaves) picture.append(word(leaf, otherTags.has(leaf), written));
  return picture;
}

/** From the label down to a bar, along it and down to each child, with rounded corners. */
function branches(node, className) {
  const start = node.y + LABEL_HALF;
  const bar = node.y + LEVEL / 2;
  let path = "";
  for (const child of node.children) {
    const end = child.children ? child.y - LABEL_HALF : child.y + 2;
    const across = child.x - node.x;
    const corner = Math.min(CORNER, Math.abs(across) / 2);
    const side = Math.sign(across);
    path += `M${node.x} ${start}`;
    path +=
      Math.abs(across) < 1
        ? `L${child.x} ${end}`
        : `V${bar - corner}q0 ${corner} ${side * corner} ${corner}H${child.x - side * corner}` +
          `q${side * corner} 0 ${side * corner} ${corner}V${end}`;
  }
  return svg("path", { d: path, class: className, opacity: opacityOf(node, FAINTEST_BRANCH) });
}

/** null where nothing is known. */
const opacityOf = ({ probability }, least) =>
  probability === null ? null : (least + (1 - least) * probability).toFixed(2);

function label(node, isMarked) {
  const width = boxWidth(node);
  const box = svg("rect", {
    x: node.x - width / 2,
    y: node.y - LABEL_HALF,
    width,
    height: 2 * LABEL_HALF,
    rx: 4,
  });
  const [room, y] = [sideWidth(node), node.y + 4];
  const opacity = opacityOf(node, FAINTEST_LABEL);
  const parts = [svg("text", { x: node.x - room / 2, y, class: "label", opacity }, node.label)];
  if (node.probability !== null) parts.push(svg("title", {}, `${node.label}: ${percent(node.probability)} sure`));
  if (room) {
    const x = node.x + width / 2 - room / 2 - 3;
    parts.push(svg("text", { x, y, class: "share" }, percent(node.probability)));
  }
  node.drawn = svg("g", { class: isMarked ? "node own" : "node" }, box, ...parts);
  return node.drawn;
}

function word(leaf, hasOtherTag, { lang, dir }) {
  const tag = svg("text", { x: leaf.x, y: leaf.y + 13, class: "tag" }, leaf.tag);
  const attributes = { x: leaf.x, y: leaf.y + 32, class: "word", lang, direction: dir };
  const text = svg("text", attributes, leaf.word);
  leaf.drawn = svg("g", { class: hasOtherTag ? "leaf other-tag" : "leaf" }, tag, text);
  return leaf.drawn;
}
