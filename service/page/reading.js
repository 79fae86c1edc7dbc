// The best tree, alone or next to another one.

import { actionsFor } from "./actions.js";
import { showBrackets } from "./brackets.js";
import { showEdges } from "./edges.js";
import { byId, element, setAll } from "./elements.js";
import { outline } from "./outline.js";
import { constituentsMissingIn, forgetProbabilities, treeFor } from "./trees.js";

const SMALLEST = 0.96; // a tree shrinks to this before it scrolls: tags have 10 pixels then
const SMALLEST_OUTLINED = 0.72; // narrow screens have an outline in place of a tree that is smaller
const STEP = 1.25; // of the zoom
const LARGEST = 1.6; // a tree by itself grows to this
const SMALLEST_ZOOM = 0.1;
const LARGEST_ZOOM = 4;
const TALLEST = 0.62; // of the window, for a tree that grows
const NARROW = matchMedia("(max-width: 44rem)"); // as in page.css: what does not fit is an outline
const SIDES = ["chosen", "other"];
const BEFORE = 40; // pixels from the edge to the middle of the word before the first difference
const GAP = 10; // pixels: half the space between two trees side by side, frames included

/** The best tree, alone or beside another candidate. */
export class Reading {
  #shown = []; // the candidates on the screen, so that they are not drawn again
  #drawn = []; // the trees on the screen, the best one first
  #candidates = []; // whose trees they are
  #pointed = [];
  #words = []; // of the text above
  #fileName = "";
  isStacked = null; // the user's choice; null: as the trees fit
  #zoom = null; // the user's choice; null: as large as is good, "fit": the whole tree

  /** `onStack()` is called when the user has chosen whether the trees are stacked. */
  constructor(onStack) {
    const canvases = SIDES.map((side) => byId(`${side}-canvas`));
    canvases.forEach((canvas, place) => {
      const partner = canvases[1 - place];
      canvas.addEventListener("scroll", () => {
        if (partner.scrollLeft !== canvas.scrollLeft) partner.scrollLeft = canvas.scrollLeft;
      });
    });
    canvases.forEach((canvas, place) => {
      canvas.addEventListener("pointerover", (event) => this.#pointAtNode(place, event.target));
      canvas.addEventListener("pointerleave", () => this.#point([]));
    });
    new ResizeObserver(() => this.fit()).observe(byId("trees"));
    byId("stacked").addEventListener("change", () => {
      this.isStacked = byId("stacked").checked;
      this.fit();
      onStack();
    });
    for (const side of SIDES) showEdges(byId(`${side}-canvas`));
    this.#addActions();
    byId("sentence").addEventListener("pointerover", (event) => this.#pointAtWord(event.target));
    byId("sentence").addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") this.#point([]); // a finger leaves when it has pointed
    });
  }

  #addActions() {
    SIDES.forEach((side, place) => {
      const shown = () => ({
        candidate: this.#candidates[place],
        picture: byId(`${side}-canvas`).firstElementChild,
        fileName: `${this.#fileName}-${this.#candidates[place].index + 1}`,
      });
      const which = place === 0 ? "the best tree" : "the tree compared with it";
      const view = {
        fit: () => this.#setZoom("fit"),
        zoom: (direction) => this.#setZoom(this.#scale(place) * STEP ** direction),
        fullScreen: () => toggleFullScreen(byId(side)),
      };
      byId(side).querySelector("figcaption").append(actionsFor(which, shown, view));
    });
  }

  /**
   * `best` and `other` are {candidate, name, title, details, sentence} or null, where `sentence` is as
   * prepared() makes it; `id` is the sentence's, `words` are the elements of original.js.
   */
  show({ best, other, id, words }) {
    this.#words = words;
    byId("comparison").hidden = !best;
    byId("other").hidden = !other;
    byId("reading").classList.toggle("single", !other);
    if (!best) {
      [this.#shown, this.#drawn, this.#candidates] = [[], [], []];
      return;
    }
    this.#fileName = `${id.replace(/[^\w.-]+/g, "_")}-tree`;
    byId("legend-other").textContent = other ? `only in the ${other.name}` : "";
    const pair = [best, other].filter(Boolean);
    pair.forEach((each, place) => caption(`${SIDES[place]}-caption`, each));
    const shown = pair.flatMap(({ candidate, sentence, name }) => [candidate, sentence.isForeign, name]);
    if (shown.length === this.#shown.length && shown.every((each, i) => each === this.#shown[i])) return;
    this.#shown = shown;
    this.#zoom = null;
    this.#draw(pair);
  }

  #draw(pair) {
    performance.mark("draw-begins");
    const trees = pair.map(({ candidate }) => treeFor(candidate));
    const { written, isForeign } = pair[0].sentence;
    if (isForeign) trees.forEach(forgetProbabilities);
    this.#drawn = trees;
    this.#candidates = pair.map(({ candidate }) => candidate);
    const [first, second] = trees;
    const marks = second
      ? [constituentsMissingIn(second, first), constituentsMissingIn(first, second)]
      : [new Set()];
    trees.forEach((tree, place) => {
      setAll(tree.picture, { role: "img", "aria-label": `Tree: ${pair[place].candidate.tree}` });
      setAll(tree.picture.querySelector(".words"), { lang: written.lang });
      mark(tree, marks[place], trees[1 - place]);
      byId(`${SIDES[place]}-canvas`).replaceChildren(tree.picture, outline(tree, marks[place], written));
    });
    byId("legend-tags").hidden = !trees.some(({ picture }) => picture.querySelector(".other-tag"));
    this.fit();
    this.#scrollToDifference(marks, written.dir);
    showBrackets(first, this.#words, written, (node) => this.#pointAt(0, node));
    this.#point([]);
    performance.measure("draw", "draw-begins");
  }

  #setZoom(zoom) {
    this.#zoom = zoom === "fit" ? zoom : Math.min(LARGEST_ZOOM, Math.max(SMALLEST_ZOOM, zoom));
    this.fit();
    this.#scrollTo(this.#rootColumn());
  }

  // Pixels on the screen for one of a drawing's.
  #scale(place) {
    const { picture, width } = this.#drawn[place];
    return picture.getAttribute("width") / width;
  }

  /** Side by side if both fit, as large as possible. */
  fit() {
    if (!this.#drawn.length) return;
    const half = byId("trees").clientWidth / 2 - GAP;
    const [{ width }] = this.#drawn; // of both
    const isStacked = this.isStacked ?? width * SMALLEST > half;
    byId("trees").classList.toggle("stacked", isStacked);
    byId("stacked").checked = isStacked;
    const highest = Math.max(...this.#drawn.map((tree) => tree.height));
    this.#drawn.forEach((tree, place) => {
      const canvas = byId(`${SIDES[place]}-canvas`);
      if (!canvas.clientWidth) return;
      // Words are at the same height side by side, so a lower tree has space above it.
      const height = isStacked ? tree.height : highest;
      const fitting = canvas.clientWidth / width;
      const isOutline = NARROW.matches && fitting < SMALLEST_OUTLINED;
      canvas.classList.toggle("outlined", isOutline);
      if (isOutline) canvas.scrollLeft = 0;
      const room = Math.min(LARGEST, (TALLEST * innerHeight) / height);
      const largest = this.#drawn.length > 1 ? 1 : Math.max(1, room);
      const good = Math.min(largest, Math.max(SMALLEST, fitting));
      const whole = Math.min(largest, fitting, canvas.clientHeight ? roomOf(canvas) / height : 1);
      const scale = this.#zoom === "fit" ? whole : (this.#zoom ?? good);
      const viewBox = `0 ${tree.height - height} ${width} ${height}`;
      setAll(tree.picture, { viewBox, width: width * scale, height: height * scale });
    });
  }

  #scrollToDifference(marks, direction) {
    const starts = marks.flatMap((nodes) => [...nodes].map((node) => node.start));
    if (!starts.length) return this.#scrollTo(this.#rootColumn());
    const { leaves } = this.#drawn[0];
    const edge = xOf(leaves[Math.max(0, Math.min(...starts) - 1)]) * this.#scale(0);
    const { clientWidth } = byId("chosen-canvas");
    this.#scrollTo(direction === "rtl" ? edge + BEFORE - clientWidth : edge - BEFORE);
  }

  // With the root in the middle.
  #rootColumn() {
    return xOf(this.#drawn[0].nodes[0]) * this.#scale(0) - byId("chosen-canvas").clientWidth / 2;
  }

  #scrollTo(left) {
    for (const each of document.querySelectorAll(".canvas:not(.outlined)")) each.scrollLeft = left;
  }

  // Show a constituent, or a word, and the words it spans.
  #pointAtNode(place, target) {
    const { nodes, leaves } = this.#drawn[place];
    const group = target.closest(".node, .leaf");
    if (group) this.#pointAt(place, [...nodes, ...leaves].find(({ parts }) => parts[0] === group));
  }

  #pointAt(place, node) {
    this.#point([node, ...this.#drawn[place].leaves.slice(node.start, node.end)]);
  }

  // Show where a word of the text is in both trees.
  #pointAtWord(target) {
    const place = this.#words.indexOf(target);
    if (place >= 0) this.#point(this.#drawn.map(({ leaves }) => leaves[place]).filter(Boolean));
  }

  #point(nodes) {
    for (const each of this.#pointed) each.classList.remove("pointed");
    const words = nodes.filter((node) => !node.children).map((leaf) => this.#words[leaf.start]);
    this.#pointed = [...nodes.map(({ parts }) => parts[0]), ...words].filter(Boolean);
    for (const each of this.#pointed) each.classList.add("pointed");
  }
}

/** The middle of a node or leaf in its drawing. */
const xOf = ({ parts: [group] }) => Number(group.querySelector("text").getAttribute("x"));

/** Pixels for the height of a tree that is shown whole. */
const roomOf = (canvas) => (document.fullscreenElement ? canvas.clientHeight : TALLEST * innerHeight);

function toggleFullScreen(pane) {
  if (document.fullscreenElement) document.exitFullscreen();
  else pane.requestFullscreen();
}

function caption(id, { title, details }) {
  byId(id).replaceChildren(...(title ? [element("b", {}, title), element("span", {}, details)] : []));
}

/** Highlight nodes of a tree, and the tags that `other`, if there is one, has not. */
function mark({ nodes, leaves }, marked, other) {
  for (const node of nodes) for (const part of node.parts) part.classList.toggle("own", marked.has(node));
  for (const { parts } of marked) parts[1].parentNode.append(parts[1]); // over the other branches
  for (const { tag, start, parts } of leaves) {
    const differs = Boolean(tag && other?.leaves[start]?.tag) && tag !== other.leaves[start].tag;
    parts[0].classList.toggle("other-tag", differs);
  }
}
