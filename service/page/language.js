// What follows the language of the text: its direction, and what there is to try. The page's own words are
// English.

/** Texts to try, where the parser's language is not English. */
const EXAMPLES = {
  id: "Nenek menjual kue di pasar setiap pagi. Anak-anak membantu ayah mencuci mobil.",
  zh: "我妹妹在图书馆看书。昨天下午我们坐火车去了海边。",
};
const ENGLISH_SENTENCE = "They served coffee and cake to the guests.";

// The blocks of Unicode whose letters are written from right to left.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** "rtl" or "ltr", as most letters are: is_right_to_left of reranker/languages.py. A test compares both
 *  for every letter: tests/service/page/test_languages.py. */
export function directionOf(text) {
  const letters = text.replaceAll(/-[LR][RSC]B-/g, "").match(/\p{L}/gu) ?? [];
  return 2 * letters.filter((letter) => RIGHT_TO_LEFT.test(letter)).length > letters.length ? "rtl" : "ltr";
}

/** A text in this language to parse, or null: English has an n-best list, others nothing. */
export const exampleIn = (language) => EXAMPLES[language] ?? null;

/** Whether there is anything to try; a server without a parser does not know its language (null). */
export const hasExample = (language) => [null, "en"].includes(language) || language in EXAMPLES;

/** What stands in the box for a text while that is empty. */
export function placeholderIn(language) {
  if (language === "en") return ENGLISH_SENTENCE;
  const [sentence] = exampleIn(language)?.match(/^.*?[.。]/) ?? [];
  return sentence ?? `A sentence in ${new Intl.DisplayNames(["en"], { type: "language" }).of(language)}`;
}
