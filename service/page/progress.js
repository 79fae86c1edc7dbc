// How far an answer is: a bar, a count, the seconds, and a button to cancel.

import { byId } from "./elements.js";
import { counted } from "./wording.js";

let clock = null;
let begun = 0;
let total = 0;
let done = 0;
let activity = ""; // before it is known how many sentences there are

/** `cancel()` is called when the user presses the button. */
export const startProgress = (cancel) => byId("cancel").addEventListener("click", cancel);

/** Show that a request is under way, and what is done: "Scoring". */
export function showProgress(what) {
  activity = what;
  [begun, total, done] = [performance.now(), 0, 0];
  clearInterval(clock);
  clock = setInterval(tick, 250);
  tick();
  byId("progress").hidden = false;
}

/** The number of sentences in the request. */
export function expect(count) {
  total = count;
  tick();
}

/** Another sentence is there. */
export const countSentence = () => (done += 1);

export function hideProgress() {
  clearInterval(clock);
  byId("progress").hidden = true;
}

function tick() {
  const seconds = Math.floor((performance.now() - begun) / 1000);
  const count = total ? `${done} of ${counted(total, "sentence")}` : activity;
  byId("progress-text").textContent = seconds < 2 ? `${count} …` : `${count} … ${seconds} s`;
  const bar = byId("progress-bar");
  if (total > 1) [bar.max, bar.value] = [total, done];
  else bar.removeAttribute("value"); // a bar that does not say how far
}
