// Two journals: what flipped from the first to the second, with the reasons side by side.

import { ask } from "./api.js";
import { address, go, whole, count } from "./address.js";
import { Drawn, renew } from "./drawn.js";
import { chip, el, note, table } from "./elements.js";

export class Versus extends Drawn {
  several = true;

  async refresh() {
    const { state } = this;
    const journals = await ask("journals");
    const here = state.journal;
    // The newest comes first.
    const older = journals.find((each) => each.n > here)?.n;
    const [before, other] = state.query.other || older === undefined ? [here, whole(state.query.other, journals.find((each) => each.n !== here)?.n)] : [older, here];
    if (other === undefined) {
      this.holder.replaceChildren(note("There is one journal only. Start the viewer with two journals, or with the folder that holds them."));
      return;
    }
    const found = await ask(`${before}/versus`, { other, all: state.query.all });
    const choice = (label, value, act) => el("label", {}, label, this.select(journals, value, act));
    const change = (changes) => go({ ...state, ...changes, query: { ...state.query, ...changes.query } });
    const all = el("input", { type: "checkbox", checked: state.query.all === "1" });
    all.addEventListener("change", () => change({ journal: before, query: { other, all: all.checked ? "1" : "" } }));
    const side = (journal, row, explained) => (row === null ? el("td", { class: "aside" }, "not there") : el("td", { "data-of": found.names[journal === other ? 1 : 0] },
      el("a", { class: "chip " + row.standing, href: address({ journal, view: "run", id: row.id }) }, row.standing), " ",
      row.score?.toFixed(2) ?? "", explained ? null : el("div", { class: "why", dir: "auto" }, row.missed || ""),
      row.reason && !explained ? el("div", { class: "reason", dir: "auto" }, row.reason) : null));
    const beside = (one, two) => el("a", { href: address({ journal: before, view: "beside", query: { runs: [one, two].map((row) => encodeURIComponent(row.id)).join(","), of: `${before},${other}` } }) }, "side by side");
    // Each point that flipped, with what was said of it before and after.
    const pointOf = (point) => el("tr", { class: "flip" }, el("th", { dir: "auto" }, chip({ worse: "bad", better: "good", other: "open" }[point.change], point.change), " ", point.statement),
      point.sides.map(([label, reason, quotes], place) => el("td", { "data-of": found.names[place] }, el("b", {}, label), el("div", { class: "reason", dir: "auto" }, reason),
        quotes.map(([where, words]) => el("div", { class: "quote", dir: "auto" }, el("span", {}, where), words)))));
    const rowsOf = ([one, two], place) => {
      const points = found.points?.[place] || [];
      const run = two || one;
      return [el("tr", { class: points.length ? "whole" : null }, el("th", { dir: "auto" }, run.case, el("div", {}, el("small", { dir: "auto" },
        run.agent, run.trial > 1 ? ` · trial ${run.trial}` : "", run.played ? ` · ${run.played}` : "", one && two ? [" · ", beside(one, two)] : ""))),
      side(before, one, points.length), side(other, two, points.length)), points.map(pointOf)];
    };
    const words = [["worse", found.worse], ["better", found.better], ["the same", found.same], ["in one journal only", found.alone]].filter(([, number]) => number)
      .map(([name, number]) => `${count(number)} ${name}`).join(", ");
    renew(this.holder, el("form", { class: "filters" }, choice("Before", before, (value) => change({ journal: value, query: { other } })),
      choice("After", other, (value) => change({ journal: before, query: { other: value } })), el("label", {}, "Also the same", all), el("output", {}, words || "no runs")),
    table("versus-runs", [["Case"], ...found.names.map((name) => [name])], found.pairs.map(rowsOf)),
    found.pairs.length < found.total ? note(`${count(found.total - found.pairs.length)} more pairs; viva compare has all.`) : "");
  }

  select(journals, value, act) {
    const node = el("select", {}, journals.map((each) => el("option", { value: each.n, selected: each.n === value }, each.name)));
    node.addEventListener("change", () => act(Number(node.value)));
    return node;
  }
}
