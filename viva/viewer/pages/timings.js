// Where the time and the money went: rounds and steps on one line of time, and usage by role.

import { ask } from "./api.js";
import { here, whole } from "./address.js";
import { el, figure, note, table } from "./elements.js";

const MOST = 100;
const seconds = (value) => (value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toFixed(value ? 3 : 0)) + " s";
const count = (value) => (value ? value.toLocaleString("en") : "");
// If a call was reported in part, what is known is a lower bound.
const tokens = (used, value) => (value && !used.whole ? "at least " : "") + count(value);
const told = (used, value) => (value || used.whole ? tokens(used, value) : "unknown");
const dollars = (value) => (value === null ? "" : "$" + value.toFixed(value < 1 ? 4 : 2));

export class Timings {
  constructor(holder, state) {
    this.state = state;
    this.holder = holder;
  }

  async show() {
    const { state } = this;
    const found = await ask(`${state.journal}/timings`, { id: state.id, first: whole(state.query.from, ""), most: MOST });
    const figures = (heads, rows) => table("figures", heads.map((head, place) => [head, place ? "n" : ""]), rows.map(([name, ...cells]) => el("tr", {}, el("th", { dir: "auto" }, name), cells.map((cell) => figure(cell)))));
    const all = found.totals[0]?.[1] || 0;
    const totals = found.totals.length ? figures(["Time", "", ""], found.totals.map(([name, value]) => [name, seconds(value), all ? Math.round((value / all) * 100) + " %" : ""])) : null;
    const usage = found.usage.length ? figures(["Cost and tokens", "Cost", "Calls", "Input", "from cache", "Output", "reasoning"], found.usage.map((each) => [each.role, dollars(each.cost) || "unknown", count(each.calls), told(each, each.input), tokens(each, each.cached), told(each, each.output), tokens(each, each.reasoning)]))
      : note("No tokens were reported.");
    const begin = Math.min(...found.rounds.map((each) => each.start - each.examiner));
    const end = Math.max(...found.rounds.map((each) => each.start + each.agent), begin + 0.001);
    const bar = (kind, from, took, title) => {
      const node = el("span", { class: "bar-of " + kind, title });
      node.style.left = `${((from - begin) / (end - begin)) * 100}%`;
      node.style.width = `${Math.max(0.15, (took / (end - begin)) * 100)}%`;
      return node;
    };
    const line = (name, bars, took, extra = "") => el("div", { class: "fall-row " + extra }, el("span", { class: "fall-name", dir: "auto" }, name), el("span", { class: "fall-time" }, bars), el("span", { class: "n" }, took));
    const rounds = found.rounds.map((each) => {
      const inner = each.steps.map((step) => line(step.title, step.start === null || step.start < begin || step.start > end ? null : bar("step" + (step.failed ? " failed" : ""), step.start, Math.min(step.seconds || 0, end - step.start), `${step.kind}, ${seconds(step.seconds || 0)}`), step.seconds === null ? "" : seconds(step.seconds), "of-step"));
      const link = el("a", { href: here(state, { part: "", from: "", round: each.n }) }, `Round ${each.n}`);
      return [line([link, each.cost === null ? "" : el("small", {}, " " + dollars(each.cost))], [each.examiner ? bar("of-examiner", each.start - each.examiner, each.examiner, `examiner, ${seconds(each.examiner)}`) : null,
        bar("of-agent" + (each.failed ? " failed" : ""), each.start, each.agent, `agent, ${seconds(each.agent)}`)], seconds(each.examiner + each.agent)), inner, each.more ? line(`${each.more} more steps`, null, "") : null];
    });
    const last = found.first + found.rounds.length;
    const part = (from, words) => el("a", { href: here(state, { from }) }, words);
    const paths = el("p", { class: "note paths" }, found.first > 0 ? part(Math.max(0, found.first - MOST), "earlier rounds") : null, found.count > found.rounds.length ? `rounds ${found.first + 1} to ${last} of ${count(found.count)}` : null, last < found.count ? part(last, "later rounds") : null);
    const guess = found.rounds.some((each) => !each.known) ? note("When rounds began is not known, so each follows the one before it.") : null;
    this.holder.replaceChildren(el("section", { class: "costs" }, totals, usage), el("section", { class: "fall" }, el("h2", {}, "Rounds and steps"), el("p", { class: "note legend" }, el("span", { class: "dot of-examiner" }), "examiner ", el("span", { class: "dot of-agent" }), "agent ", el("span", { class: "dot step" }), "step"), guess, rounds, paths));
  }
}
