// The keys, and how to write a filter.

import { ask } from "./api.js";
import { byId, el } from "./elements.js";

const KEYS = [["/", "go to the filter, or find in the run"], ["j, k", "next and previous run or round"], ["Enter", "open the run"], ["1 to 4", "parts of a run"], ["o", "overview"], ["l", "list of runs"], ["g", "cases by agents"],
  ["s", "search"], ["t", "history"], ["v", "two journals"], ["Esc", "back"], ["?", "this help"]];

export const showHelp = async () => {
  const help = byId("help");
  const found = await ask("0/fields").catch(() => null); // an export has none
  const list = (rows) => el("dl", {}, rows.map(([name, words]) => [el("dt", {}, name), el("dd", {}, words)]));
  help.replaceChildren(el("form", { method: "dialog" }, el("button", { autofocus: true }, "Close")), el("h2", { id: "help-title" }, "Keys"), list(KEYS.map(([key, words]) => [el("kbd", {}, key), words])),
    ...(found ? [el("h2", {}, "Filters"), list(found.examples.map(([expression, words]) => [el("code", {}, expression), words])),
      el("details", { open: true }, el("summary", {}, `All ${found.fields.length} fields`), list(found.fields.map(([name, operators, words, values]) => [[el("code", {}, name), " ", el("small", {}, operators)], values.length ? `${words}: ${values.join(", ")}` : words])))] : []));
  help.showModal();
};
