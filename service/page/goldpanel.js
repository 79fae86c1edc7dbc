// Gold trees: where they come from, and what they say of a sentence.

import { byId } from "./elements.js";
import { GoldError, GoldStandard, f1, judge, total } from "./gold.js";
import { keepGold, keptGold } from "./kept.js";
import { treeFor } from "./trees.js";
import { counted, enumeration } from "./wording.js";

const LISTED = 2; // missing constituents that are named

/** The gold trees in use, if any. `kind` is "", "example" or "kept", as in the address. */
export class Gold {
  kind = "";
  #standard = null;
  #judged = new Map(); // by candidate
  #getExample;

  /** `change()` is called when the user gives other gold trees; `listOf()` is the list's name. */
  constructor(getExample, listOf, change) {
    this.#getExample = getExample;
    const use = async (kind) => {
      await this.use(kind, listOf());
      change();
    };
    byId("open-gold").addEventListener("click", () => byId("gold-dialog").showModal());
    byId("use-gold").addEventListener("click", () => {
      keepGold(listOf(), byId("gold").value);
      use("kept");
    });
    byId("example-gold").addEventListener("click", () => use("example"));
    byId("no-gold").addEventListener("click", () => use(""));
  }

  /** Take the gold trees that the address names. */
  async use(kind, list) {
    byId("example-gold").hidden = list !== "example";
    const text = { example: this.#getExample, kept: async () => keptGold(list) }[kind];
    this.#standard = null;
    this.#judged.clear();
    let problem = "";
    try {
      byId("gold").value = text ? await text() : "";
      if (text) this.#standard = new GoldStandard(byId("gold").value);
    } catch (error) {
      problem = error.message;
      if (!(error instanceof GoldError)) problem = `There are no gold trees: ${problem}`;
    }
    this.kind = this.#standard ? kind : "";
    byId("gold-state").textContent = "";
    byId("gold-problem").textContent = problem;
    byId("gold-problem").hidden = !problem;
    byId("no-gold").hidden = !this.#standard;
    if (!problem) byId("gold-dialog").close();
    byId("results").classList.toggle("has-gold", this.#standard !== null);
  }

  /** A candidate's {matched, gold, test, right, missing}; null without a gold tree for it. */
  of(candidate) {
    if (!this.#standard) return null;
    if (!this.#judged.has(candidate)) {
      const tree = treeFor(candidate);
      const gold = this.#standard.of(tree);
      this.#judged.set(candidate, gold && judge(gold, tree));
    }
    return this.#judged.get(candidate);
  }

  /** A candidate's F1, or null. */
  f1(candidate) {
    const judged = this.of(candidate);
    return judged && f1(judged);
  }

  /** Best tree and parser's first of a sentence against its gold tree, or "". */
  verdict({ candidates }, { best }) {
    const first = candidates.find(({ index }) => index === 0);
    const score = best && this.f1(best.candidate);
    if (score === null || !this.#standard) return "";
    if (!first || first === best.candidate) return `Against gold: F1 ${score.toFixed(1)}.`;
    const before = this.f1(first);
    const word = score > before ? "better" : score < before ? "worse" : "neither better nor worse";
    return (
      `Against gold: ${word}, F1 ${before.toFixed(1)} for the parser’s first, ` +
      `${score.toFixed(1)} for the best tree.`
    );
  }

  /** Say what the gold trees make of a whole list; `state` as in page.js. */
  summarise({ sentences, orders }) {
    if (!this.#standard) return;
    const pairs = sentences.flatMap(({ candidates }, place) => {
      const [first, best] = [candidates.find(({ index }) => index === 0), orders[place].best?.candidate];
      const judged = first && best ? [this.of(first), this.of(best)] : [null];
      return judged[0] ? [judged] : [];
    });
    byId("gold-state").textContent = pairs.length
      ? `Against gold (${counted(pairs.length, "sentence")}): F1 of the parser’s first trees ` +
        `${f1(total(pairs.map(([first]) => first))).toFixed(2)}, of the best ` +
        `${f1(total(pairs.map(([, best]) => best))).toFixed(2)}.`
      : `None of the ${counted(this.#standard.size, "gold tree")} has the words of a sentence here.`;
  }
}

/** "F1 85.7: 6 of 7 brackets right; missing: NP “the dog”". */
export function judgement(judged, leaves) {
  if (!judged) return "";
  const words = ({ start, end }) => leaves.slice(start, end).map(({ word }) => word).join(" ");
  const missing = judged.missing.map((node) => `${node.label.split(/[-=]/)[0]} “${words(node)}”`);
  const others = missing.splice(LISTED).length;
  if (others) missing.push(`${others} more`);
  return (
    `F1 ${f1(judged).toFixed(1)}: ${judged.matched} of ${counted(judged.test, "bracket")} right` +
    (missing.length ? `; missing: ${enumeration(missing)}` : "")
  );
}
