// The list of runs: filtered and sorted by the server, a window of rows at a time.

import { ask } from "./api.js";
import { address, count, counted, go } from "./address.js";
import { chip, el } from "./elements.js";

const ROW = 44;
const WINDOW = 120;
const ORDERS = [["began", "in order"], ["-score", "best first"], ["score", "worst first"], ["case", "by case"], ["-seconds", "slowest first"],
  ["-cost", "most expensive first"], ["-tokens", "most tokens first"], ["-rounds", "most rounds first"]];

export class RunList {
  constructor(main, state) {
    this.state = state;
    this.rows = new Map();
    this.total = 0;
    this.asked = 0;
    this.where = el("input", { id: "where", type: "search", placeholder: "score<1 and tag=smoke", value: state.query.where || "", spellcheck: "false",
      autocomplete: "off", "aria-label": "Filter, as --where takes it" });
    this.order = el("select", { "aria-label": "Order" }, ORDERS.map(([value, words]) =>
      el("option", { value, selected: value === (state.query.order || "began") }, words)));
    this.count = el("output", {});
    this.problem = el("p", { class: "fault text", hidden: true, role: "alert" });
    this.space = el("div", { class: "space" });
    this.body = el("div", { class: "window", role: "list" });
    this.scroller = el("div", { class: "scroller", tabindex: 0, "aria-label": "Runs" }, this.space, this.body);
    this.chosen = new Set();
    this.beside = el("a", { class: "strong", hidden: true }, "Side by side");
    main.append(el("form", { class: "filters" }, el("label", { class: "grow" }, "Filter", this.where), el("label", {}, "Order", this.order), this.count,
      this.beside), this.problem, this.scroller);
    this.where.addEventListener("input", () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.filter(), 150); });
    this.order.addEventListener("change", () => this.filter());
    this.scroller.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    this.refresh();
  }

  filter() {
    this.state.query = { ...this.state.query, where: this.where.value.trim(), order: this.order.value === "began" ? "" : this.order.value };
    go(this.state, { replace: true });
    this.scroller.scrollTop = 0;
    this.refresh();
  }

  changed() { this.refresh(); }

  async refresh() {
    this.rows.clear();
    await this.load(Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - 20));
  }

  async load(first) {
    const asked = ++this.asked;
    const { where = "", order = "" } = this.state.query;
    let found;
    try {
      found = await ask(`${this.state.journal}/runs`, { where, order, first, most: WINDOW });
    } catch (error) {
      if (asked !== this.asked) return;
      this.problem.textContent = error.message;
      this.problem.hidden = false;
      return;
    }
    if (asked !== this.asked) return; // the reader has typed on
    this.problem.hidden = true;
    found.rows.forEach((row, place) => this.rows.set(found.first + place, row));
    this.total = found.total;
    const all = counted(found.among, "run");
    this.count.textContent = found.total === found.among ? all : `${count(found.total)} of ${all}`;
    this.draw();
  }

  draw() {
    this.space.style.height = this.total * ROW + "px";
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - 5);
    const last = Math.min(this.total, first + Math.ceil(this.scroller.clientHeight / ROW) + 10);
    const nodes = [];
    let missing = -1;
    for (let place = first; place < last; place++) {
      const row = this.rows.get(place);
      if (row) nodes.push(this.rowOf(row, place));
      else if (missing < 0) missing = place;
    }
    const focused = document.activeElement?.closest?.(".window a")?.getAttribute("href");
    this.body.style.transform = `translateY(${first * ROW}px)`;
    this.body.replaceChildren(...nodes);
    if (focused) this.body.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    if (missing >= 0 && missing !== this.loading) {
      this.loading = missing;
      this.load(Math.max(0, missing - 20)).finally(() => { this.loading = -1; });
    }
  }

  rowOf(row, place) {
    const href = address({ journal: this.state.journal, view: "run", id: row.id, query: { where: this.state.query.where, order: this.state.query.order, at: place } });
    const why = row.missed || row.reason || "";
    const score = row.score?.toFixed(2) ?? "";
    const choose = el("input", { type: "checkbox", checked: this.chosen.has(row.id), "aria-label": `compare ${row.case}, ${row.agent}, trial ${row.trial}` });
    choose.addEventListener("change", () => this.choose(row.id, choose.checked));
    const link = el("a", { class: "row", href },
      chip(row.standing, row.judging ? "judging" : row.standing),
      el("span", { class: "name", dir: "auto" }, row.case),
      el("span", { class: "agent", dir: "auto" }, row.agent),
      el("span", { class: "n minor" }, row.trial > 1 ? `trial ${row.trial}` : ""),
      el("span", { class: "n" }, score),
      el("span", { class: "n" }, counted(row.rounds, "round")),
      el("span", { class: "why", dir: "auto" }, why));
    return el("div", { class: "line", role: "listitem" }, choose, link);
  }

  choose(id, wanted) {
    if (wanted) this.chosen.add(id);
    else this.chosen.delete(id);
    const runs = Array.from(this.chosen, encodeURIComponent).slice(0, 4).join(",");
    this.beside.hidden = this.chosen.size < 2;
    this.beside.setAttribute("href", address({ journal: this.state.journal, view: "beside", query: { runs } }));
  }
}
