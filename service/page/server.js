// Talking to the service.

import { ACCEPT, eventsOf } from "./stream.js";

/** What went wrong, in words for the user; `status` is 0 without an answer. */
export class ServerError extends Error {
  constructor(status, message, retryAfter = null) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** Version, models and limits. Raises ServerError; its status is 401 if a key is needed. */
export const getInfo = async (key) => (await call("info", key)).json();

/** An n-best text to try. */
export const getExample = async (key) => (await call("page/example.txt", key)).text();

const WANTED = { criterion: "perplexity", lm_weight: 1, return_trees: true, return_drawings: true };

/**
 * Scores for an n-best text in any dialect, or for the trees of a text that is to be parsed, with
 * trees and drawings, at weight 1: the events of stream.js, up to `end`.
 *
 * `list` has a `text`, or `nbest` with `tokens`, the sentences, one per line, or "", `format`, and
 * `beam` for OpenNMT's. `limits` are those of getInfo. Raises ServerError.
 */
export async function* rerank(list, limits, key, signal) {
  const { text, nbest, tokens, format, beam } = list;
  const isText = text !== undefined;
  const given = isText
    ? { text }
    : {
        nbest,
        ...(tokens.trim() ? { tokens } : {}),
        format,
        ...(format === "opennmt" ? { beam } : {}),
      };
  const body = JSON.stringify({ ...given, ...WANTED });
  const bytes = new Blob([body]).size;
  if (bytes > limits.max_body_bytes) {
    // A server that refuses a body may close the connection before we can read why.
    const [size, most] = [bytes, limits.max_body_bytes].map(megabytes);
    throw new ServerError(413, `The text has ${size} MB; this server accepts at most ${most} MB.`);
  }
  const headers = { "Content-Type": "application/json", Accept: ACCEPT };
  if (limits.max_request_seconds) headers["X-Request-Timeout"] = limits.max_request_seconds;
  const response = await call(isText ? "parse" : "rerank", key, { method: "POST", body, headers, signal });
  let isComplete = false;
  try {
    for await (const event of eventsOf(response)) {
      if (event.error) throw new ServerError(500, sentence(event.error));
      isComplete ||= Boolean(event.end);
      yield event;
    }
  } catch (error) {
    if (error.name === "AbortError" || error instanceof ServerError) throw error;
    throw new ServerError(0, "The answer broke off. Is the server still running?");
  }
  if (!isComplete) throw new ServerError(0, "The answer broke off before its end.");
}

async function call(path, key, options = {}) {
  const headers = { ...options.headers };
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, "The server does not respond. Is it still running?");
  }
  if (response.ok) return response;
  throw new ServerError(
    response.status,
    sentence(await errorOf(response), response.status),
    Number(response.headers.get("Retry-After")) || null,
  );
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

async function errorOf(response) {
  try {
    return (await response.json()).error ?? {};
  } catch {
    return {};
  }
}

function sentence(error, status) {
  const meaning = {
    401: "This server requires an API key",
    413: "The text is too large for this server",
    422: "The server cannot use this text",
    501: "This server cannot parse",
    429: "The server is busy; try again in a moment",
    503: "The server is not ready; try again in a moment",
    504: "The server could not answer in time; try fewer sentences",
  }[status];
  const start = meaning ?? `The server answered with an error${status ? ` (${status})` : ""}`;
  const reference = error.request_id ? ` (request ${error.request_id})` : "";
  return (error.message ? `${start}: ${error.message}` : start) + reference;
}
