// Lists that were pasted, kept for a reload: in this tab, until it is closed.

/** Keep a list; returns the name it has in the address. A list too long to be kept is forgotten. */
export function keepList(list) {
  const id = `pasted-${Date.now().toString(36)}`;
  keep(`list:${id}`, JSON.stringify(list));
  return id;
}

/** The list of that name, or null. */
export function keptList(id) {
  const text = sessionStorage.getItem(`list:${id}`);
  return text === null ? null : JSON.parse(text);
}

function keep(name, text) {
  try {
    sessionStorage.setItem(name, text);
  } catch {
    // Browsers keep some 5 million characters: make room, and if that is not enough, a reload will
    // say that the list is gone.
    sessionStorage.clear();
    try {
      sessionStorage.setItem(name, text);
    } catch {
      sessionStorage.removeItem(name);
    }
  }
}
