// Cases by agents, versions, personas or other facts that differ, each cell with its trials.

import { ask } from "./api.js";
import { address, go, moved } from "./address.js";
import { absent, Drawn, renew } from "./drawn.js";
import { el, note, table } from "./elements.js";

export const meanOf = (trials) => {
  const scores = trials.map((each) => each[2]).filter((score) => score !== null);
  return scores.length ? (scores.reduce((sum, score) => sum + score, 0) / scores.length).toFixed(2) : "";
};

// A mark for each trial, which leads to its run: [trial, standing, score, run, journal].
export const dotsOf = (trials, query = {}) => trials.map(([trial, standing, score, id, journal]) => {
  const title = `trial ${trial}: ${standing}${score === null ? "" : ", " + score.toFixed(2)}`;
  return el("a", { class: "dot " + standing, href: address({ journal, view: "run", id, query }), title, "aria-label": title });
});

export class Grid extends Drawn {
  choice(names, chosen, of, act) {
    return el("fieldset", { class: "choice" }, el("legend", {}, of), names.map(([value, words]) => {
      const box = el("input", { type: "checkbox", checked: chosen.includes(value) });
      box.addEventListener("change", () => act(names.map((each) => each[0]).filter((each) => (each === value ? box.checked : chosen.includes(each)))));
      return el("label", {}, box, words);
    }));
  }

  async refresh() {
    const { state } = this;
    const { where, by, with: others } = state.query;
    if (!this.forms) this.holder.before(this.forms = el("div", {}));
    const found = await ask(`${state.journal}/grid`, { where, by: by === "agent" ? "" : by, with: others });
    const change = (query) => go(moved(state, query));
    const several = (others || "").split(",").filter(Boolean);
    this.several = several.length;
    const journals = (await ask("journals")).filter((each) => each.n !== state.journal);
    // The first trial of each column, next to each other.
    const beside = (row) => {
      const runs = row.cells.filter((trials) => trials.length).slice(0, 4).map((trials) => trials[0]);
      const of = runs.some((each) => each[4] !== state.journal) ? runs.map((each) => each[4]).join(",") : "";
      return runs.length < 2 ? row.case : el("a", { href: address({ journal: state.journal, view: "beside", query: { runs: runs.map((each) => encodeURIComponent(each[3])).join(","), of } }), title: "side by side" }, row.case);
    };
    const cell = (trials) => el("td", {}, el("b", {}, meanOf(trials)), " ", dotsOf(trials, { where }));
    const columns = Object.entries(found.varied || {}).map(([name, number]) => [name, `${name} (${number})`]);
    const forms = [columns.length > 1 ? this.choice(columns, (by || "agent").split(","), "Columns", (chosen) => change({ by: chosen.join(",") || "agent" })) : null,
      found.varied && journals.length ? el("details", { class: "facts", open: several.length > 0 }, el("summary", {}, "Other journals beside this one"), this.choice(journals.map((each) => [String(each.n), each.name]), several, "Journals",
        (chosen) => change({ with: chosen.join(","), by: chosen.length && !by ? "agent,journal" : by }))) : null];
    const key = JSON.stringify([columns, journals.map((each) => each.name)]);
    if (key !== this.choices) this.forms.replaceChildren(...forms.filter(Boolean));
    this.choices = key;
    renew(this.holder, ...absent(found), table("grid", [["Case"], ...found.agents.map((agent) => [agent])],
      found.rows.map((row) => el("tr", {}, el("th", { dir: "auto" }, beside(row)), row.cells.map(cell)))), el("p", { class: "note legend" },
      ["passed", "failed", "excluded", "running"].map((each) => [el("span", { class: "dot " + each }), each + " "])));
    for (const [number, words] of [[found.cases - found.rows.length, "more cases"], [found.left_out, "runs are in further columns"]]) {
      if (number > 0) this.holder.append(note(`${number} ${words}; use a filter.`));
    }
  }
}
