// Cases by agents, each cell with its trials.

import { ask } from "./api.js";
import { address } from "./address.js";

export class Grid {
  constructor(main, state, { el }) {
    this.el = el;
    this.state = state;
    this.main = main;
    this.holder = el("div", { class: "scroll" });
    main.append(this.holder);
    this.refresh();
  }

  changed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), 300);
  }

  async refresh() {
    const { el, state } = this;
    const found = await ask(`${state.journal}/grid`, { where: state.query.where });
    const run = (id) => address({ journal: state.journal, view: "run", id, query: { where: state.query.where } });
    // The first trial of each agent, next to each other.
    const beside = (row) => {
      const runs = row.cells.filter((trials) => trials.length).slice(0, 4).map((trials) => trials[0][3]);
      return runs.length < 2 ? row.case : el("a", { href: address({ journal: state.journal, view: "beside", query: { runs: runs.join(",") } }), title: "side by side" }, row.case);
    };
    const cell = (trials) => {
      const scores = trials.map((each) => each[2]).filter((score) => score !== null);
      const mean = scores.length ? (scores.reduce((sum, score) => sum + score, 0) / scores.length).toFixed(2) : "";
      return el("td", {}, el("b", {}, mean), " ", trials.map(([trial, standing, , id]) =>
        el("a", { class: "dot " + standing, href: run(id), title: `trial ${trial}: ${standing}`, "aria-label": `trial ${trial}: ${standing}` })));
    };
    this.holder.replaceChildren(el("table", { class: "grid" },
      el("thead", {}, el("tr", {}, el("th", {}, "Case"), found.agents.map((agent) => el("th", { dir: "auto" }, agent)))),
      el("tbody", {}, found.rows.map((row) => el("tr", {}, el("th", { dir: "auto" }, beside(row)), row.cells.map(cell))))));
    if (found.cases > found.rows.length) this.holder.append(el("p", { class: "note" }, `${found.cases - found.rows.length} more cases; use a filter.`));
  }
}
