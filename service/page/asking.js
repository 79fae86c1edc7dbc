// From a pasted text, a file or the example to the server's answer, or to a message if there is
// none.

import { decoded } from "./decoding.js";
import { byId, element } from "./elements.js";
import { faultIn, looksLikeText, looksLikeTrees } from "./typed.js";
import { keepList, keptList } from "./kept.js";
import { exampleIn, hasExampleLists, languageName, placeholderIn } from "./language.js";
import { countSentence, expect, hideProgress, showProgress, startProgress } from "./progress.js";
import { getExample, getInfo, rerank } from "./server.js";
import { countOf } from "./stream.js";

const RETRY_INFO_AFTER = 2_000; // milliseconds, while the server loads its models
const PASTED = "Pasted list";
const TYPED = "Your text";
const ABOUT = byId("about").textContent;

let key = "";
let limits = {}; // as GET /info gives them
let language = null; // of the parser, if the server has one
let request = null; // the AbortController of the current request
let hasAnswer = false; // whether a sentence of the current request is on the page
let show = null; // what startAsking was given

/**
 * Set up the form, file choice and drag and drop.
 *
 * `showing` has begin({id, name, text, language, total}), add(sentence) for each sentence of the answer, and
 * end({warnings, isComplete}); clear(), which takes the former answer away; and ready(), called once the server has said what it is.
 */
export function startAsking(showing) {
  show = showing;
  byId("input").addEventListener("submit", (event) => {
    event.preventDefault();
    askFor(PASTED, byId("nbest").value);
  });
  byId("parse").addEventListener("click", askToParse);
  const onSend = (id, send) =>
    byId(id).addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
    });
  onSend("nbest", () => byId("input").requestSubmit());
  onSend("text", askToParse);
  for (const kind of ["focus", "pointerdown", "input"]) {
    byId("text").addEventListener(kind, () => byId("text").classList.remove("read"));
  }
  byId("example").addEventListener("click", () => openList("example"));
  byId("try").addEventListener("click", () => {
    byId("text").value = exampleIn(language);
    askToParse();
  });
  byId("format").addEventListener("change", showBeam);
  startProgress(cancel);
  byId("use-key").addEventListener("click", useKey);
  byId("key").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // Enter would submit the form
    useKey();
  });
  takeFiles(async (file) => {
    const read = await textOf(file).catch(() => null);
    if (read === null) refuse(`${file.name} cannot be read.`);
    else await askForFile(file.name, read);
  });
  learnAboutServer();
}

/** Ask again for a list by its name in the address. */
export async function openList(id) {
  if (id === "example") {
    hasAnswer = false;
    try {
      const nbest = await getExample(key);
      await ask({ id, name: "Example", nbest, tokens: "", format: "auto", beam: 50 });
    } catch (error) {
      report(error);
    }
    return;
  }
  const list = keptList(id);
  if (!list) return refuse("Pasted lists stay in the tab they were pasted in: give this one again.");
  const fields = list.text === undefined ? ["tokens", "format", "beam"] : ["text"];
  for (const name of fields) byId(name).value = list[name];
  showBeam();
  if (list.name === PASTED) byId("nbest").value = list.nbest;
  await ask({ ...list, id });
}

/** Ask for a text, read as the form says unless `format` is given. */
export function askFor(name, nbest, format = byId("format").value, warning = "") {
  if (!nbest.trim()) return refuse("Paste the trees of a parser, or open a file, then press Rerank.");
  const beam = Number(byId("beam").value);
  return ask({ name, nbest, tokens: byId("tokens").value, format, beam, warning });
}

/** A file is a text where the server can parse one and the form does not say that it is a list. */
function askForFile(name, { text, isWindows }) {
  const warning = isWindows ? `${name} is not UTF-8: read as Windows-1252.` : "";
  const isText = language !== null && byId("format").value === "auto" && looksLikeText(text);
  if (!isText || !text.trim()) return askFor(name, text, undefined, warning);
  byId("text").value = text;
  return ask({ name, text, warning });
}

function askToParse() {
  const text = byId("text").value;
  if (!text.trim()) {
    refuse("Type a sentence in the box, then press Parse.");
    byId("text").focus();
    return;
  }
  if (!looksLikeTrees(text)) return ask({ name: TYPED, text });
  const fault = faultIn(text);
  if (!fault) return ask({ name: "Your trees", nbest: text, tokens: "", format: "auto", beam: 50 });
  refuse(fault.message);
  byId("text").focus();
  byId("text").setSelectionRange(fault.start, fault.end);
}

/** Keep a text that a link has, as if it had been typed; returns its name in the address. */
export const keepText = (text) => keepList({ name: TYPED, text });

/** Stop waiting for an answer; sentences that are there stay. */
export const cancel = () => request?.abort();

function takeFiles(take) {
  for (const button of document.querySelectorAll(".choose")) {
    button.addEventListener("click", () => byId("file").click());
  }
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
  return decoded(await new Response(stream).arrayBuffer());
}

async function ask(list) {
  request?.abort();
  const mine = (request = new AbortController());
  say("");
  hasAnswer = false;
  showProgress(list.text === undefined ? "Scoring" : "Parsing");
  setBusy(true);
  try {
    await receive(list, mine);
  } catch (error) {
    if (error.name !== "AbortError") report(error);
  } finally {
    if (request === mine) {
      request = null;
      hideProgress();
      setBusy(false);
    }
  }
}

function setBusy(isBusy) {
  for (const id of ["submit", "parse"]) byId(id).disabled = isBusy;
}

async function receive(list, mine) {
  let start = null;
  let hasBegun = false;
  let warnings = null;
  try {
    for await (const event of rerank(list, limits, key, mine.signal)) {
      if (request !== mine) return; // a newer request has replaced it
      if (event.start) {
        ({ start } = event);
        expect(countOf(start));
      } else if (event.sentence) {
        if (!hasBegun) begin(list, start);
        hasBegun = hasAnswer = true;
        show.add(event.sentence);
        countSentence();
      } else if (event.end) {
        ({ warnings } = event.end);
      }
    }
    if (!hasBegun) refuse("The list contains no sentences.");
  } finally {
    if (hasBegun && request === mine) {
      const all = [list.warning ?? "", ...(warnings ?? [])].filter(Boolean);
      show.end({ warnings: all, isComplete: warnings !== null });
    }
  }
}

function begin(list, start) {
  byId("text").classList.add("read");
  byId("text").scrollTop = 0;
  const { id = keepList(list), name } = list;
  show.begin({ id, name, text: list.text ?? "", language, total: countOf(start) });
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
    byId("about").textContent = error.status === 503 ? "The models are being loaded." : ABOUT;
    if (error.status === 503) setTimeout(learnAboutServer, RETRY_INFO_AFTER);
    else if (error.status === 401) askForKey();
    else report(error);
    return false;
  }
  limits = info.limits;
  language = info.parser?.language ?? null;
  byId("text-part").hidden = byId("lead").hidden = !info.parser;
  if (language) {
    Object.assign(byId("text"), { lang: language, placeholder: placeholderIn(language) });
    byId("text-language").textContent = ` in ${languageName(language)}`;
    byId("lists-part").open = byId("nbest").value !== "";
  }
  byId("try").hidden = exampleIn(language) === null;
  byId("example").hidden = !hasExampleLists(language);
  const models = info.models.map((model) => model.name.replace(/\.pt$/, "")).join(", ");
  byId("about").textContent = ABOUT;
  byId("about").title = `${models} · ${info.device} · version ${info.version}`;
  const [auto] = byId("format").options;
  const formats = Object.entries(info.formats);
  const options = formats.map(([name, meaning]) => element("option", { title: meaning }, name));
  byId("format").replaceChildren(auto, ...options);
  byId("key-field").hidden = true;
  show.ready();
  return true;
}

function showBeam() {
  byId("beam-field").hidden = byId("format").value !== "opennmt";
}

function askForKey() {
  byId("key-field").hidden = byId("input").hidden = false;
}

function report(error) {
  if (error.status === 401) askForKey();
  if (!hasAnswer) show.clear();
  const wait = error.retryAfter ? ` Try again in ${error.retryAfter} s.` : "";
  say(error.status === undefined ? `The answer cannot be shown: ${error.message}` : error.message + wait);
}

/** Show a message in place of the former answer. */
function refuse(text) {
  cancel();
  show.clear();
  say(text);
}

/** Show a message, wherever on the page its reader is; "" takes it away. */
export function say(text) {
  const message = byId("message");
  message.textContent = text;
  message.hidden = !text;
  if (text) message.focus(); // which scrolls to it
}
