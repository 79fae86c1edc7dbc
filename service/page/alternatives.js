// Alternatives of a sentence that were given without blank lines between sentences: each is read as
// a sentence of its own.

/** Whether lists have one tree each, and neighbours the same words. */
export function looksLikeAlternatives(sentences) {
  const hasOne = (sentence) => sentence.candidates.length + sentence.rejected.length === 1;
  const usable = sentences.filter(({ candidates }) => candidates.length);
  if (usable.length < 2 || !sentences.every(hasOne)) return false;
  return groupsOf(usable).every((group) => group.length > 1);
}

/** The same trees as one list for each sentence, as JSON lines (docs/formats.md). */
export function joined(sentences) {
  const usable = sentences.filter(({ candidates }) => candidates.length);
  const lists = groupsOf(usable).map((group) => ({
    id: group[0].id,
    candidates: group.map(({ candidates: [{ tree, parser_score: score }] }) =>
      score === null ? { tree } : { tree, score },
    ),
  }));
  return lists.map((list) => JSON.stringify(list) + "\n").join("");
}

function groupsOf(sentences) {
  const groups = [];
  for (const sentence of sentences) {
    const last = groups.at(-1);
    if (last?.[0].words === sentence.words) last.push(sentence);
    else groups.push([sentence]);
  }
  return groups;
}
