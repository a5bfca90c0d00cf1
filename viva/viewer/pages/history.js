// How cases and agents developed over journals and versions.

import { ask } from "./api.js";
import { counted, go, here, moved } from "./address.js";
import { absent, Drawn, renew } from "./drawn.js";
import { chip, el, figure, note, table } from "./elements.js";
import { dotsOf, meanOf } from "./grid.js";

const SVG = "http://www.w3.org/2000/svg";
const svg = (tag, attributes, ...children) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const TONES = { regression: "bad", drop: "open", improvement: "good" };

export class History extends Drawn {
  several = true; // changes of other journals are shown too
  static PAUSE = 2000;

  async refresh() {
    const { state } = this;
    const { with: others, words = "", case: name, agent } = state.query;
    const found = await ask(`${state.journal}/history`, { with: others });
    const journals = await ask("journals");
    const change = (query) => go(moved(state, query));
    const kept = found.trends.filter((each) => (words || each.overall || TONES[each.direction]) && `${each.case} ${each.agent}`.toLowerCase().includes(words.toLowerCase()));
    const field = el("input", { type: "search", value: words, placeholder: "case or agent", "aria-label": "Case or agent" });
    field.addEventListener("change", () => change({ words: field.value }));
    const open = (each) => here(state, { case: each.case, agent: each.agent });
    const rows = kept.map((each) => el("tr", { "aria-current": each.case === name && each.agent === agent && "true" }, el("th", {}, el("a", { class: "row", href: open(each), dir: "auto" }, each.case), el("small", { dir: "auto" }, each.agent, each.evaluator === "scoring_points" ? "" : ` · ${each.evaluator}`)),
      el("td", {}, this.spark(each)), figure(each.scores), figure(each.change ? chip(TONES[each.direction], each.change) : ""), el("td", { class: "minor" }, each.direction === "single" ? "nothing to compare with" : each.direction), el("td", { class: "n minor" }, each.compared)));
    renew(this.holder, el("form", { class: "filters" }, el("label", { class: "grow" }, "Find", field), el("output", {}, `${counted(found.runs, "run")}${found.excluded ? `, ${found.excluded} without a score` : ""}`)),
      ...absent(found), name === undefined ? "" : await this.runs(name, agent, journals),
      rows.length ? table("trends", [["Case"], ["Over time"], ["Score", "n"], ["Change", "n"], ["", "minor"], ["Compared", "n minor"]], rows) : note("There are no such trends."),
      found.more ? note(`${found.more} more; viva history --all has them.`) : "", this.causes(found.causes));
  }

  // What was missed, by what went wrong, from journal to journal.
  causes(found) {
    if (!found.length) return "";
    const rows = found.map((each) => el("tr", {}, el("th", { dir: "auto" }, each.words, " ", el("small", { dir: "auto" }, each.agent)), el("td", {}, this.spark({ points: each.points, direction: each.worse ? "regression" : "" })), figure(each.shares), el("td", {}, chip(each.worse ? "bad" : "good", each.kind)), el("td", { class: "minor" }, each.id)));
    return el("section", { class: "cause-trends" }, el("h2", {}, "Causes of misses"), table("trends", [["What fails"], ["Over time"], ["Of the runs", "n"], [""], ["Cause", "minor"]], rows));
  }

  // A line stands where a new version begins.
  spark({ points, direction }) {
    const x = (place) => (points.length > 1 ? 3 + (place * 122) / (points.length - 1) : 64);
    const y = (mean) => 29 - mean * 26;
    const marks = points.flatMap((point, place) => (place && point[2] !== points[place - 1][2] ? [svg("line", { class: "version", x1: x(place - 0.5), x2: x(place - 0.5), y1: 0, y2: 32 })] : []));
    const last = points.length - 1;
    return el("div", { class: direction === "regression" ? "worse" : null }, svg("svg", { class: "spark", viewBox: "0 0 128 32", role: "img", "aria-label": points.map((point) => point[0].toFixed(2)).join(", ") }, ...marks,
      svg("polyline", { class: "line", points: points.map((point, place) => `${x(place)},${y(point[0])}`).join(" ") }), svg("circle", { class: "last", cx: x(last), cy: y(points[last][0]), r: 2.6 })));
  }

  async runs(name, agent, journals) {
    const { state } = this;
    const found = await ask(`${state.journal}/trend`, { case: name, agent, with: state.query.with });
    const names = new Map(journals.map((each) => [each.n, each.name]));
    const groups = [];
    for (const each of found.runs) {
      const last = groups.at(-1);
      const [, , , , journal, version] = each;
      if (last && last.journal === journal && last.version === version) last.runs.push(each);
      else groups.push({ journal, version, runs: [each] });
    }
    const day = (at) => (at ? new Date(at * 1000).toISOString().slice(0, 16).replace("T", " ") : "");
    return el("section", { class: "trend-runs" }, el("h2", { dir: "auto" }, name, " ", el("small", { dir: "auto" }, agent)), table("", null, groups.map(({ journal, version, runs }) => el("tr", {}, el("th", { dir: "auto" }, names.get(journal) || "", version ? el("small", {}, ` version ${version}`) : ""),
      el("td", { class: "minor" }, el("small", {}, day(runs[0][6]))), figure(meanOf(runs)), el("td", {}, dotsOf(runs))))),
    found.more ? note(`${counted(found.more, "earlier run")} left out.`) : null);
  }
}
