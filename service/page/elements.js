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
  setAll(node, attributes);
  node.append(...children);
  return node;
}

/** Set attributes of an element; one that is null or false is left out. */
export function setAll(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : value);
  }
}

/** The element of index.html with this id. */
export const byId = (id) => document.getElementById(id);
