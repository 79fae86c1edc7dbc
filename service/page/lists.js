// The lists of sentences and of candidates, with keyboard navigation. The list keeps the focus and
// names its active entry, so that entries can be reordered.

import { element } from "./elements.js";

const MOVES = {
  ArrowUp: (at) => at - 1,
  ArrowDown: (at) => at + 1,
  PageUp: (at) => at - 10,
  PageDown: (at) => at + 10,
  Home: () => 0,
  End: () => Infinity,
};

/** Makes a role="listbox" element a list with `show(entries)` and one active entry. */
export class ChoiceList {
  #list;
  #choose;

  /**
   * `choose(key, isClick)` is called when the user makes the entry with that data-key active, with
   * the pointer or the keyboard.
   */
  constructor(list, choose) {
    // Its parent scrolls, which may have a header above it.
    this.#list = list;
    this.#choose = choose;
    list.addEventListener("keydown", (event) => this.#move(event));
    list.addEventListener("click", (event) => {
      const entry = event.target.closest("[role=option]");
      if (entry) this.#choose(Number(entry.dataset.key), true);
    });
  }

  /** Show these entries in this order. */
  show(entries) {
    const now = this.#list.children;
    if (now.length === entries.length && entries.every((entry, i) => now[i] === entry)) return;
    this.#list.replaceChildren(...entries);
  }

  /** Add an entry at the end. */
  append(entry) {
    this.#list.append(entry);
  }

  /** Mark the entry with this key; `isFollowed` scrolls it into view. */
  activate(key, isFollowed = true) {
    for (const entry of this.#list.children) {
      const isActive = entry.dataset.key === String(key);
      if (isActive !== (entry.getAttribute("aria-selected") === "true")) {
        entry.setAttribute("aria-selected", isActive);
      }
      if (!isActive) continue;
      this.#list.setAttribute("aria-activedescendant", entry.id);
      if (isFollowed) scrollInto(this.#list, entry);
    }
  }

  #move(event) {
    const move = MOVES[event.key];
    if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const entries = [...this.#list.children];
    const active = this.#list.getAttribute("aria-activedescendant");
    const at = entries.findIndex((entry) => entry.id === active);
    const to = Math.max(0, Math.min(entries.length - 1, move(at)));
    if (to !== at && entries[to]) this.#choose(Number(entries[to].dataset.key), false);
  }
}

// scrollIntoView would move the page as well.
function scrollInto(list, entry) {
  const scroller = list.parentElement;
  const above = entry.offsetTop - scroller.scrollTop - list.offsetTop;
  const below = entry.offsetTop + entry.offsetHeight - scroller.scrollTop - scroller.clientHeight;
  if (above < 0) scroller.scrollTop += above;
  else if (below > 0) scroller.scrollTop += below;
}

/** An entry of a ChoiceList. */
export function option(prefix, key, ...children) {
  return element(
    "li",
    { role: "option", id: `${prefix}-${key}`, "data-key": key, "aria-selected": "false" },
    ...children,
  );
}
