// Words in all conversations; the server searches a part of the runs at a time.

import { ask } from "./api.js";
import { address, count, counted, go } from "./address.js";
import { absent } from "./drawn.js";
import { chip, el, note } from "./elements.js";

const MOST = 200;

export class Search {
  constructor(main, state) {
    this.state = state;
    const field = (name, label, hint) => el("input", { type: "search", name, value: state.query[name] || "", placeholder: hint, "aria-label": label, spellcheck: "false", autocomplete: "off" });
    this.words = field("words", "Words", "words that were said");
    this.where = field("where", "Filter, as --where takes it", "not passed");
    this.all = el("input", { type: "checkbox", checked: state.query.all === "1" });
    this.count = el("output", {});
    this.list = el("div", {});
    main.append(el("form", { class: "filters" }, el("label", { class: "grow" }, "Words", this.words), el("label", { class: "grow" }, "Only in runs", this.where), el("label", {}, "All journals", this.all), this.count), this.list);
    main.querySelector("form").addEventListener("submit", () => this.chosen());
    for (const node of [this.words, this.where, this.all]) node.addEventListener("change", () => this.chosen());
    if (!state.query.words) this.words.focus();
    this.ready = this.refresh();
  }

  chosen() {
    go({ ...this.state, query: { words: this.words.value, where: this.where.value.trim(), all: this.all.checked ? "1" : "" } });
  }

  changed() {} // what is read does not move

  async refresh() {
    const { state } = this;
    const { words, where, all } = state.query;
    const turn = this.turn = {};
    this.list.replaceChildren();
    this.count.textContent = "";
    if (!words) return;
    const journals = all === "1" ? await ask("journals") : [{ n: state.journal }];
    let runs = 0;
    for (const journal of journals) {
      for (let first = 0; first !== null && runs < MOST;) {
        const found = await ask(`${journal.n}/search`, { words, where, first }).catch((error) => {
          if (all !== "1" || !error.gone) throw error;
          return { found: [], next: null, absent: [`${journal.name} is left out: ${error.message}`] };
        });
        if (turn !== this.turn) return;
        this.list.append(...absent(found));
        for (const each of found.found) this.list.append(this.runOf(journal, each));
        runs += found.found.length;
        first = found.next;
        this.count.textContent = counted(runs, "run") + (first === null ? "" : `, ${count(found.searched)} of ${count(found.total)} searched`);
      }
    }
    if (!runs) this.list.append(note("No run has these words."));
    if (runs >= MOST) this.list.append(note("There may be more; use a filter."));
  }

  runOf(journal, { row, hits, more }) {
    const run = (round) => address({ journal: journal.n, view: "run", id: row.id, query: { round } });
    return el("section", { class: "found" }, el("h2", {}, chip(row.standing, row.standing), " ", el("a", { href: run(), dir: "auto" }, row.case), el("small", { dir: "auto" }, [" " + row.agent, row.trial > 1 ? `trial ${row.trial}` : "", journal.name].filter(Boolean).join(" · "))),
      hits.map(([number, who, before, words, after]) => el("a", { class: "row hit", href: run(number) }, el("small", {}, `round ${number} · ${who}`), el("span", { dir: "auto" }, before, el("mark", {}, words), after))), more ? note("and further rounds") : null);
  }
}
