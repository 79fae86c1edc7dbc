// Copying text.

const SHOWN = 2_000; // milliseconds

/** Make a button copy what `text()` returns, and say for a moment whether it did. */
export function copyOnClick(button, text) {
  const name = button.textContent;
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text(), button)) ? "Copied" : "Not copied";
    setTimeout(() => (button.textContent = name), SHOWN);
  });
}

async function copy(text, button) {
  // Over plain HTTP browsers have no clipboard for scripts, but still the old command.
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(() => true, () => false); // prettier-ignore
  }
  const area = document.createElement("textarea");
  area.className = "visually-hidden";
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  button.focus();
  return isCopied;
}
