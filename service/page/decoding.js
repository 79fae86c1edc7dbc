// Files as text, by the rule of the commands and the service (reranker/files/encoding.py).

const MARKS = [
  ["utf-8", /^\uf7ef\uf7bb\uf7bf/],
  [null, /^(?:\uf7ff\uf7fe\0\0|\0\0\uf7fe\uf7ff)/], // UTF-32, of which browsers know nothing
  ["utf-16le", /^\uf7ff\uf7fe/],
  ["utf-16be", /^\uf7fe\uf7ff/],
];
const NOT_WINDOWS = /[\0-\x08\x0e-\x1f\x7f\uf781\uf78d\uf78f\uf790\uf79d\uf7ff]/;
const DECLARES = /^\s*<\?xml\s[^>]*encoding/;
const HIGH = /[\uf780-\uf7ff]/g;
const SEQUENCE =
  /[\uf7c2-\uf7df][\uf780-\uf7bf]|[\uf7e0-\uf7ef][\uf780-\uf7bf]{2}|[\uf7f0-\uf7f4][\uf780-\uf7bf]{3}/g;
const MOST_HIGH = 4; // one byte in so many: texts of other scripts have more

/** The text of bytes, and whether they were read as Windows-1252. Throws for bytes in no encoding that browsers know. */
export function decoded(bytes) {
  const seen = new TextDecoder("x-user-defined").decode(bytes); // a character for each byte, those from 0x80 as U+F780 to U+F7FF
  const marked = MARKS.find(([, mark]) => mark.test(seen));
  const isWindows = !marked && isWindows1252(seen);
  const [encoding] = marked ?? [isWindows ? "windows-1252" : "utf-8"];
  if (encoding === null) throw new TypeError("UTF-32");
  const fatal = encoding.startsWith("utf-16");
  return { text: new TextDecoder(encoding, { fatal }).decode(bytes), isWindows };
}

function isWindows1252(seen) {
  if (DECLARES.test(seen)) return false;
  const high = seen.match(HIGH)?.length ?? 0;
  const sequences = seen.match(SEQUENCE) ?? [];
  const wrong = high - sequences.join("").length;
  const isRare = high === 1 || MOST_HIGH * high <= seen.length;
  return wrong > sequences.length && isRare && !NOT_WINDOWS.test(seen);
}
