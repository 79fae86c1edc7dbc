// What follows the language of the text: its direction, and what there is to try. The page's own words are
// English.

/** Texts to try, where the parser's language is not English. */
const EXAMPLES = {
  id: "Nenek menjual kue di pasar setiap pagi. Anak-anak membantu ayah mencuci mobil.",
  zh: "我妹妹在图书馆看书。昨天下午我们坐火车去了海边。",
};
const ENGLISH_SENTENCE = "I saw the man with the telescope.";

// The blocks of Unicode whose letters are written from right to left.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** "rtl" or "ltr", as most letters are: is_right_to_left of reranker/languages.py. A test compares both
 *  for every letter: tests/service/page/test_languages.py. */
export function directionOf(text) {
  const letters = text.replaceAll(/-[LR][RSC]B-/g, "").match(/\p{L}/gu) ?? [];
  return 2 * letters.filter((letter) => RIGHT_TO_LEFT.test(letter)).length > letters.length ? "rtl" : "ltr";
}

/** A text in this language to parse, or null. */
export const exampleIn = (language) => (language === "en" ? ENGLISH_SENTENCE : (EXAMPLES[language] ?? null));

/** Whether the n-best lists of the example, which are English, are of use; a server without a parser
 *  does not know its language (null). */
export const hasExampleLists = (language) => [null, "en"].includes(language);

/** The English name of a language. */
export const languageName = (language) => new Intl.DisplayNames(["en"], { type: "language" }).of(language);

// The scripts, by the name that Intl.Locale has for them, whose letters a regular expression can tell.
const LETTERS = {
  Latn: /\p{Script=Latin}/u,
  Cyrl: /\p{Script=Cyrillic}/u,
  Arab: /\p{Script=Arabic}/u,
  Hans: /\p{Script=Han}/u,
};

/** Whether a text is in another language than the parser's: the server warns that most of its words are
 *  unknown to the parser, or most of its letters are of another script. */
export function isForeign(text, language, warnings) {
  if (warnings.some((warning) => warning.includes("words are unknown. If this is not"))) return true;
  const own = LETTERS[new Intl.Locale(language).maximize().script];
  const letters = text.match(/\p{L}/gu) ?? [];
  return Boolean(own) && 2 * letters.filter((letter) => !own.test(letter)).length > letters.length;
}

/** What stands in the box for a text while that is empty. */
export function placeholderIn(language) {
  const [sentence] = exampleIn(language)?.match(/^.*?[.。]/) ?? [];
  return sentence ?? `A sentence in ${languageName(language)}`;
}
