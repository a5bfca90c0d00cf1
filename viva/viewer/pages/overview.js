// Figures by agent, and what most runs missed.

import { ask } from "./api.js";
import { address, counted } from "./address.js";
import { Drawn, renew } from "./drawn.js";
import { el, figure, note, table } from "./elements.js";

export class Overview extends Drawn {
  static PAUSE = 2000;

  async refresh() {
    const { state } = this;
    const found = await ask(`${state.journal}/overview`);
    const quoted = (text) => `"${text.replace(/[\\"]/g, "\\$&")}"`;
    const runs = (where) => address({ journal: state.journal, view: "runs", query: { where } });
    const percent = (value) => (value === null ? "" : (value * 100).toFixed(0) + " %");
    const agents = table("", [["Agent"], ["Mean score"], ["95 % interval", "n"], ["Passed", "n"], ["Excluded", "n"]], found.agents.map((agent) => el("tr", {},
      el("th", {}, el("a", { href: runs(`agent=${quoted(agent.agent)}`), dir: "auto" }, agent.agent)),
      el("td", { class: "wide" }, el("meter", { min: 0, max: 1, value: agent.mean ?? 0, "aria-label": "mean score" }), " ", agent.mean?.toFixed(2) ?? "none"),
      figure(agent.interval || ""), figure(`${agent.passes} of ${agent.runs}`, " ", el("small", {}, percent(agent.runs ? agent.passes / agent.runs : null))),
      figure(agent.excluded || ""))));
    const misses = found.misses.map((miss) => el("tr", {}, figure(el("b", {}, counted(miss.runs, "run")), " ", el("small", {}, miss.share)),
      el("td", {}, el("a", { href: address({ journal: state.journal, view: "run", id: miss.run }), dir: "auto" }, miss.what),
        el("div", { class: "reason", dir: "auto" }, miss.reason),
        el("small", { dir: "auto" }, miss.cases > 1 ? `${miss.cases} cases` : miss.case, " · ", Object.entries(miss.agents).map(([agent, runs]) => `${agent} (${runs})`).join(", "), " · ", el("code", {}, miss.id)))));
    renew(this.holder, el("section", {}, el("h2", {}, "Agents"), agents),
      misses.length ? el("section", {}, el("h2", {}, "Missed in most runs"), el("table", { class: "misses" }, el("tbody", {}, misses)),
        found.more > 0 ? note(`${found.more} more; the list of runs has all.`) : null, found.left_out ? note(found.left_out) : null) : note("No run has missed a point."));
  }
}
