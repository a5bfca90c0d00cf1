// Two journals: what flipped from the first to the second, with the reasons side by side.

import { ask } from "./api.js";
import { address, go } from "./address.js";

export class Versus {
  constructor(main, state, { el }) {
    this.el = el;
    this.state = state;
    this.holder = el("div", {});
    main.append(this.holder);
    this.ready = this.refresh();
  }

  changed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), 500);
  }

  async refresh() {
    const { el, state } = this;
    const journals = await ask("journals");
    const other = state.query.other === undefined ? journals.find((each) => each.n !== state.journal)?.n : Number(state.query.other);
    if (other === undefined) {
      this.holder.replaceChildren(el("p", { class: "note" }, "There is one journal only. Start the viewer with two journals, or with the folder that holds them."));
      return;
    }
    const found = await ask(`${state.journal}/versus`, { other, all: state.query.all });
    const choice = (label, value, act) => el("label", {}, label, this.select(journals, value, act));
    const change = (changes) => go({ ...state, ...changes, query: { ...state.query, ...changes.query } });
    const all = el("input", { type: "checkbox", checked: state.query.all === "1" });
    all.addEventListener("change", () => change({ query: { other, all: all.checked ? "1" : "" } }));
    const side = (journal, row) => (row === null ? el("td", { class: "aside" }, "not there") : el("td", {},
      el("a", { class: "chip " + row.standing, href: address({ journal, view: "run", id: row.id }) }, row.standing), " ",
      row.score === null || row.score === undefined ? "" : row.score.toFixed(2), el("div", { class: "why", dir: "auto" }, row.missed || ""),
      row.reason ? el("div", { class: "reason", dir: "auto" }, row.reason) : null));
    const words = [["better", found.better], ["worse", found.worse], ["the same", found.same], ["in one journal only", found.alone]].filter(([, number]) => number)
      .map(([name, number]) => `${number.toLocaleString("en")} ${name}`).join(", ");
    this.holder.replaceChildren(el("form", { class: "filters" }, choice("Before", state.journal, (value) => change({ journal: value, query: { other } })),
      choice("After", other, (value) => change({ query: { other: value } })), el("label", {}, "Also the same", all), el("output", {}, words || "no runs")),
    el("div", { class: "scroll" }, el("table", { class: "versus-runs" }, el("thead", {}, el("tr", {}, el("th", {}, "Case"), found.names.map((name) => el("th", { dir: "auto" }, name)))),
      el("tbody", {}, found.pairs.map(([one, two]) => el("tr", {}, el("th", { dir: "auto" }, (one || two).case, el("div", {}, el("small", { dir: "auto" },
        (two || one).agent, (one || two).trial > 1 ? ` · trial ${(one || two).trial}` : ""))), side(state.journal, one), side(other, two)))))),
    found.pairs.length < found.total ? el("p", { class: "note" }, `${(found.total - found.pairs.length).toLocaleString("en")} more pairs; viva compare has all.`) : "");
  }

  select(journals, value, act) {
    const node = this.el("select", {}, journals.map((each) => this.el("option", { value: each.n, selected: each.n === value }, each.name)));
    node.addEventListener("change", () => act(Number(node.value)));
    return node;
  }
}
