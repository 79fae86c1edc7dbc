// Which candidate each model of the ensemble would put on top by itself.

import { element } from "./elements.js";
import { enumeration, nats, parsers } from "./wording.js";

/**
 * Votes of the models, those for the same candidate together, most votes first: {index, models,
 * behind}, where `behind` are the nats by which these models find `best` worse, one for each.
 * Empty where the answer does not say what each model thinks. Ties go to the parser's first.
 */
export function votesOf(candidates, models, best) {
  const usable = candidates.filter((candidate) => candidate.member_nll);
  if (models.length < 2 || usable.length !== candidates.length || !best) return [];
  const groups = new Map();
  models.forEach((model, member) => {
    const cost = (candidate) => candidate.member_nll[member];
    const choice = candidates.reduce((least, each) => (cost(each) < cost(least) ? each : least));
    if (!groups.has(choice.index)) groups.set(choice.index, { index: choice.index, models: [], behind: [] });
    const group = groups.get(choice.index);
    group.models.push(model);
    group.behind.push(cost(best) - cost(choice));
  });
  return [...groups.values()].sort((a, b) => b.models.length - a.models.length || a.index - b.index);
}

/**
 * Fill a list with a line for each group of votes. `indices` are those of the best tree and of the
 * one beside it; `choose(index)` is called when a candidate is pressed.
 */
export function showVotes(list, votes, indices, choose) {
  list.hidden = votes.length === 0;
  list.replaceChildren(...votes.map((vote) => line(vote, votes.length === 1, indices, choose)));
}

function line({ index, models, behind }, isUnanimous, [best, other], choose) {
  const who = isUnanimous ? `All ${models.length} models` : enumeration(models);
  const verb = models.length === 1 ? "prefers" : "prefer";
  const side = index === best ? "chosen" : index === other ? "other" : "neither";
  if (index === best) return element("li", { class: side }, `${who} ${verb} the best tree`);
  const button = element("button", { type: "button", class: "link" }, `the ${parsers(index)}`);
  button.addEventListener("click", () => choose(index));
  const [least, most] = [Math.min(...behind), Math.max(...behind)].map(nats);
  const by = least === most ? least : `${least} to ${most}`;
  return element("li", { class: side }, `${who} ${verb} `, button, `, by ${by} nats over the best`);
}
