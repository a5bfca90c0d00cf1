// Runs of one case side by side, aligned by round.

import { ask, pictureAddress } from "./api.js";
import { address, decoded, whole } from "./address.js";
import { button, chip, el } from "./elements.js";

const STEP = 20;
const MOST = 4;

export class Beside {
  constructor(main, state) {
    this.state = state;
    this.parts = runParts(main);
    this.ids = (state.query.runs || "").split(",").filter(Boolean).slice(0, MOST).map(decoded);
    this.journals = this.ids.map((_, place) => whole(state.query.of?.split(",")[place], state.journal));
    this.shown = STEP;
    this.table = el("div", { class: "beside" });
    this.table.style.setProperty("--of", this.ids.length);
    this.more = button("More rounds", () => { this.shown += STEP; this.refresh(); });
    main.append(el("nav", { class: "paths" }, el("a", { href: address({ ...state, view: "runs", query: {} }) }, "All runs")), this.table, this.more);
    this.ready = this.refresh();
  }

  changed() { this.refresh(); }

  async refresh() {
    const runs = await Promise.all(this.ids.map((id, place) => ask(`${this.journals[place]}/run`, { id, first: 0, most: this.shown })));
    for (const [place, data] of runs.entries()) data.images = data.images.map((image) => pictureAddress(this.journals[place], image));
    const nodes = runs.map((data, place) => {
      const row = data.row;
      const points = data.verdicts.map((verdict) => el("li", {}, chip(verdict.tone, verdict.label), " ", el("span", { dir: "auto" }, verdict.statement),
        verdict.tone === "good" || !verdict.reason ? null : el("div", { class: "reason", dir: "auto" }, verdict.reason)));
      return el("div", { class: "cell head" }, el("h2", { dir: "auto" }, el("a", { href: address({ journal: this.journals[place], view: "run", id: row.id }) }, row.case)),
        el("div", { class: "sub" }, chip(row.standing, row.standing), row.words ? el("span", { class: "strong" }, row.words) : null,
          el("bdi", {}, row.agent), row.trial > 1 ? `trial ${row.trial}` : null), el("ul", { class: "verdicts" }, points));
    });
    const rounds = Math.max(...runs.map((data) => data.rounds.length));
    for (let place = 0; place < rounds; place++) {
      for (const data of runs) {
        const round = data.rounds[place] && this.parts.roundOf(data, data.rounds[place]);
        round?.removeAttribute("id");
        nodes.push(el("div", { class: "cell", "data-of": `${data.row.agent}, trial ${data.row.trial}` }, round));
      }
    }
    this.table.replaceChildren(...nodes);
    this.more.hidden = runs.every((data) => data.count <= this.shown);
  }
}
