// From a pasted text, a file or the example to the server's answer, or to a message if there is
// none.

import { byId, element } from "./elements.js";
import { getExample, getInfo, rerank } from "./server.js";

const RETRY_INFO_AFTER = 2_000; // milliseconds, while the server loads its models

let key = "";
let limits = {}; // as GET /info gives them
let isSum = true; // whether log-probabilities are summed over models or averaged
let request = null; // the AbortController of the current request

/**
 * Set up the form, file choice and drag and drop. `show(answer, name, models)` is called with each
 * answer, the name of its source and the number of models its log-probabilities are sums of.
 */
export function startAsking(show) {
  const ask = (text, name) => send(text, name, show);
  byId("input").addEventListener("submit", (event) => {
    event.preventDefault();
    ask(byId("nbest").value, "Pasted list");
  });
  byId("nbest").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("input").requestSubmit();
  });
  byId("example").addEventListener("click", async () => {
    try {
      await ask(await getExample(key), "Example");
    } catch (error) {
      report(error);
    }
  });
  byId("format").addEventListener("change", () => {
    byId("beam-field").hidden = byId("format").value !== "opennmt";
  });
  byId("cancel").addEventListener("click", () => request?.abort());
  byId("use-key").addEventListener("click", useKey);
  byId("key").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // Enter would submit the form
    useKey();
  });
  takeFiles(async (file) => {
    const text = await textOf(file).catch(() => null);
    if (text === null) say(`${file.name} cannot be read.`);
    else await ask(text, file.name);
  });
  learnAboutServer();
}

function takeFiles(take) {
  byId("choose").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", () => {
    const [file] = byId("file").files;
    byId("file").value = ""; // so that the same file can be chosen again
    if (file) take(file);
  });
  const hasFile = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    byId("drop-hint").hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) byId("drop-hint").hidden = true;
  });
  addEventListener("drop", (event) => {
    byId("drop-hint").hidden = true;
    if (!hasFile(event)) return;
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) take(file);
  });
}

async function textOf(file) {
  let stream = file.stream();
  if (file.name.endsWith(".gz")) stream = stream.pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function send(text, name, show) {
  if (!text.trim()) return say("There is nothing to rerank yet: paste a list, or choose a file.");
  request?.abort();
  const mine = (request = new AbortController());
  say("");
  const stopProgress = showProgress();
  try {
    const asked = {
      nbest: text,
      tokens: byId("tokens").value,
      format: byId("format").value,
      beam: Number(byId("beam").value),
    };
    const answer = await rerank(asked, limits, key, mine.signal);
    if (request !== mine) return; // a newer request has replaced it
    if (!answer.sentences.length) say("The list contains no sentences.");
    else show(answer, name, isSum ? answer.models.length : 1);
  } catch (error) {
    if (error.name !== "AbortError") report(error);
  } finally {
    if (request === mine) request = null;
    stopProgress();
  }
}

async function useKey() {
  key = byId("key").value.trim();
  say((await learnAboutServer()) ? "" : "The server does not accept this key.");
}

async function learnAboutServer() {
  let info;
  try {
    info = await getInfo(key);
  } catch (error) {
    byId("about").textContent = error.status === 503 ? "The models are being loaded." : "";
    if (error.status === 503) setTimeout(learnAboutServer, RETRY_INFO_AFTER);
    else if (error.status === 401) askForKey();
    else report(error);
    return false;
  }
  limits = info.limits;
  isSum = info.combine === "sum";
  const models = info.models.map((model) => model.name.replace(/\.pt$/, "")).join(", ");
  byId("about").textContent = `${models} · ${info.device} · version ${info.version}`;
  const [auto] = byId("format").options;
  const formats = Object.entries(info.formats);
  const options = formats.map(([name, meaning]) => element("option", { title: meaning }, name));
  byId("format").replaceChildren(auto, ...options);
  byId("key-field").hidden = true;
  return true;
}

function askForKey() {
  byId("key-field").hidden = byId("input").hidden = false;
}

function showProgress() {
  const begun = performance.now();
  const tick = () => {
    const seconds = Math.floor((performance.now() - begun) / 1000);
    byId("progress-text").textContent = seconds < 2 ? "Scoring …" : `Scoring … ${seconds} s`;
  };
  tick();
  const clock = setInterval(tick, 500);
  byId("progress").hidden = false;
  byId("submit").disabled = true;
  return () => {
    clearInterval(clock);
    if (request) return; // a newer request is running
    byId("progress").hidden = true;
    byId("submit").disabled = false;
  };
}

function report(error) {
  if (error.status === 401) askForKey();
  const wait = error.retryAfter ? ` Try again in ${error.retryAfter} s.` : "";
  say(error.status === undefined ? `The answer cannot be shown: ${error.message}` : error.message + wait);
}

function say(text) {
  byId("message").textContent = text;
  byId("message").hidden = !text;
}
