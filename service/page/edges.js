// What scrolls shows that it does: where there is more, its edge fades (page.css).

/** Keep `data-more` of an element at the sides, "left right up down", on which it has more. */
export function showEdges(element) {
  const update = () => {
    const { scrollTop } = element;
    // Counted from the right, below 0, in text from right to left.
    const isMirrored = getComputedStyle(element).direction === "rtl";
    const scrollLeft = element.scrollLeft + (isMirrored ? element.scrollWidth - element.clientWidth : 0);
    const sides = [
      scrollLeft > 1 && "left",
      scrollLeft + element.clientWidth < element.scrollWidth - 1 && "right",
      scrollTop > 1 && "up",
      scrollTop + element.clientHeight < element.scrollHeight - 1 && "down",
    ];
    element.dataset.more = sides.filter(Boolean).join(" ");
  };
  element.addEventListener("scroll", update, { passive: true });
  const resized = new ResizeObserver(update);
  const observe = () => {
    resized.disconnect();
    for (const each of [element, ...element.children]) resized.observe(each);
    update();
  };
  new MutationObserver(observe).observe(element, { childList: true });
  observe();
}
