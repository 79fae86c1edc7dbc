// An answer, sentence by sentence. A server may send it as a line for each sentence as soon as that
// is scored, or whole; both are read as the same events, each an object with one key:
// {start: {models, ...}}, {sentence}, ..., {end: {warnings}} or, if it goes wrong, {error}.

const LINES = "application/x-ndjson";

/** The Accept header that asks for lines and takes a whole answer too. */
export const ACCEPT = `${LINES}, application/json`;

/** How many sentences an answer will have, by its start. */
export const countOf = ({ usage, sentences }) => usage?.sentences ?? sentences;

/** The events of an answer. */
export async function* eventsOf(response) {
  if (response.headers.get("Content-Type")?.startsWith(LINES)) {
    for await (const line of linesOf(response.body)) yield JSON.parse(line);
    return;
  }
  const { sentences, warnings, ...start } = await response.json();
  yield { start };
  for (const sentence of sentences) yield { sentence };
  yield { end: { warnings } };
}

async function* linesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const pieces = value.split("\n");
    rest.push(pieces.shift());
    for (const piece of pieces) {
      const line = rest.join("");
      if (line.trim()) yield line;
      rest = [piece];
    }
  }
  const line = rest.join("");
  if (line.trim()) yield line;
}
