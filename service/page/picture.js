// A tree on the screen -> a file: SVG that needs no style sheet, or PNG. Pictures are light in dark
// mode too: they are for papers and slides.

import { element, svg } from "./elements.js";

const OUTLINE = ["fill", "stroke", "stroke-width", "stroke-dasharray"];
const LETTERING = ["fill", "font-family", "font-size", "font-weight", "text-anchor", "text-decoration"];
const MARGIN = 12; // pixels
const SCALE = 2; // pixels of a PNG for one of the drawing's
const LARGEST = 16_000; // pixels: browsers draw nothing larger

/** The picture as an <svg> of its own, with every style as an attribute. */
export function standalone(picture) {
  const copy = picture.cloneNode(true);
  for (const node of copy.querySelectorAll(".pointed")) node.classList.remove("pointed");
  const [x, y, width, height] = frameOf(picture);
  copy.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const side = picture.closest(".pane").className;
  const host = element("div", { class: `${side} printed`, "aria-hidden": "true" }, copy);
  document.body.append(host);
  const paper = getComputedStyle(host).backgroundColor;
  for (const shape of copy.querySelectorAll("path, rect, text")) {
    const style = getComputedStyle(shape);
    const names = shape.tagName === "text" ? LETTERING : OUTLINE;
    for (const name of names) shape.setAttribute(name, style.getPropertyValue(name));
  }
  host.remove();
  for (const title of copy.querySelectorAll("title")) title.remove();
  for (const node of copy.querySelectorAll("[class]")) node.removeAttribute("class");
  copy.prepend(svg("rect", { x, y, width, height, fill: paper, stroke: "none" }));
  return copy;
}

export const svgText = (picture) => new XMLSerializer().serializeToString(standalone(picture));

/** The picture as the Blob of a PNG. The content security policy forbids images made by the page,
 *  so it is painted shape by shape. */
export function pngOf(picture) {
  const [x, y, width, height] = frameOf(picture);
  const scale = Math.min(SCALE, LARGEST / Math.max(width, height));
  const canvas = element("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.translate(-x, -y);
  for (const shape of standalone(picture).querySelectorAll("path, rect, text")) {
    const style = (name) => shape.getAttribute(name) ?? "";
    context.globalAlpha = Number(style("opacity") || 1);
    context.lineWidth = Number.parseFloat(style("stroke-width")) || 1;
    context.setLineDash((style("stroke-dasharray").match(/[\d.]+/g) ?? []).map(Number));
    if (shape.tagName === "text") paintText(context, shape, style);
    else paintShape(context, shapeOf(shape), style);
  }
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

// What the tree fills, without the space above a low one beside a high one: x, y, width, height.
function frameOf(picture) {
  const { x, y, width, height } = picture.getBBox();
  return [x - MARGIN, y - MARGIN, width + 2 * MARGIN, height + 2 * MARGIN].map(Math.round);
}

function shapeOf(shape) {
  if (shape.tagName === "path") return new Path2D(shape.getAttribute("d"));
  const [x, y, width, height, radius] = ["x", "y", "width", "height", "rx"].map((name) =>
    Number(shape.getAttribute(name)),
  );
  const path = new Path2D();
  path.roundRect(x, y, width, height, radius);
  return path;
}

function paintShape(context, path, style) {
  for (const [paint, colour] of [["fill", style("fill")], ["stroke", style("stroke")]]) {
    if (colour === "none") continue;
    context[`${paint}Style`] = colour;
    context[paint](path);
  }
}

function paintText(context, shape, style) {
  const [x, y] = ["x", "y"].map((name) => Number(shape.getAttribute(name)));
  context.font = `${style("font-weight")} ${style("font-size")} ${style("font-family")}`;
  context.fillStyle = style("fill");
  context.textAlign = "center";
  context.direction = style("direction") || "ltr";
  context.fillText(shape.textContent, x, y);
  if (!style("text-decoration").includes("underline")) return;
  const width = context.measureText(shape.textContent).width;
  context.fillRect(x - width / 2, y + 2, width, 1);
}
