// Making DOM nodes. Text is inserted as text, never as markup: it comes from files.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; children are nodes or strings. A property that is null or false is left out. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/** The element of index.html with this id. */
export const byId = (id) => document.getElementById(id);
