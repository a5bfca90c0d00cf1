// Labels: one scoring point after the other, blind to what the judge said until a label is given.

import { ask, pictureAddress, send } from "./api.js";
import { address, count } from "./address.js";
import { button, chip, el } from "./elements.js";
import { Rounds } from "./rounds.js";

const KEYS = { h: "hit", m: "miss", u: "unsure" };

export class Label {
  constructor(main, state) {
    this.main = main;
    this.state = state;
    this.parts = runParts(main);
    this.panel = el("div", { class: "label-panel", role: "group", "aria-label": "The point to label" });
    this.talk = el("div", { class: "blind" });
    main.append(this.panel, this.talk);
    this.ready = this.next();
  }

  changed() {} // the reader is not disturbed

  async next(after = {}) {
    const found = await ask(`${this.state.journal}/label`, after);
    this.point = found.point;
    this.said = null;
    this.began = performance.now();
    if (!found.point) {
      const words = found.total ? `All ${found.total} points are labelled.` : "There is no point to label: start the viewer with --labels FILE, with a journal that was judged.";
      this.panel.replaceChildren(el("p", {}, words));
      this.talk.replaceChildren();
      return;
    }
    this.note = el("input", { type: "text", "aria-label": "note", placeholder: "note" });
    this.answer = el("div", { role: "status" });
    this.panel.replaceChildren(el("small", {}, `${count(found.left)} of ${count(found.total)} points left · ${found.rater} · ${found.file}`),
      el("h1", { dir: "auto", tabindex: -1 }, found.point.statement), el("small", {}, `weight ${found.point.weight}`),
      el("div", { class: "gives" }, Object.entries(KEYS).map(([key, label]) => button([el("kbd", {}, key), " " + label], () => this.give(label))),
        button([el("kbd", {}, "s"), " skip"], () => this.skip()), this.note), this.answer);
    this.panel.querySelector("h1").focus({ preventScroll: true });
    if (this.run === found.point.run) return;
    this.run = found.point.run;
    this.talk.replaceChildren();
    const blind = (data) => ({ ...data, verdicts: [], rounds: data.rounds.map(withoutMarks),
      images: data.images.map((image) => pictureAddress(this.state.journal, image)), full: {} });
    const data = await ask(`${this.state.journal}/run`, { id: this.run, first: 0, most: Rounds.CHUNK });
    if (data.paper.task) this.talk.append(el("details", { class: "task", open: true }, el("summary", {}, "Task"), el("div", { class: "text", dir: "auto" }, data.paper.task)));
    this.rounds = new Rounds(this.talk, { ...this.state, id: this.run }, this.parts, blind);
    this.rounds.update(blind(data));
  }

  skip() {
    if (this.point) this.next({ run: this.point.run, criterion: this.point.criterion });
  }

  async give(label) {
    if (!this.point || this.said) { if (this.said) this.next(); return; }
    const { run, criterion } = this.point;
    const seconds = Math.round((performance.now() - this.began) / 100) / 10;
    const said = await send(`${this.state.journal}/label`, { run, criterion, label, seconds, note: this.note.value });
    this.said = said;
    this.answer.replaceChildren(el("p", { class: said.agrees ? "" : "remark" }, el("b", {}, label), ` given. ${said.by} said `, chip("", said.label), " ",
      el("span", { class: "reason", dir: "auto" }, said.reason)),
    button([el("kbd", {}, "n"), " next"], () => this.next()), " ",
    button([el("kbd", {}, "b"), " take back"], async () => {
      await send(`${this.state.journal}/label`, { run, criterion, label: null });
      this.said = null;
      this.answer.replaceChildren("The label is taken back.");
    }), " ", el("a", { href: address({ journal: this.state.journal, view: "run", id: run }) }, "the run with its verdicts"));
  }

  key(key) {
    if (KEYS[key]) this.give(KEYS[key]);
    else if (key === "s" && !this.said) this.skip();
    else if (key === "n" && this.said) this.next();
    else if (key === "b" && this.said) this.answer.querySelectorAll("button")[1].click();
    else return false;
    return true;
  }
}

const plain = (pieces) => (pieces === null ? null : pieces.map((piece) => (typeof piece === "string" ? piece : piece[0])));
const withoutMarks = (round) => (round.left ? { ...round, notes: [], cites: [] } : {
  ...round, examiner: plain(round.examiner), agent: plain(round.agent), notes: [], cites: [],
  steps: round.steps.map((step) => ({ ...step, notes: [], cites: [], texts: step.texts.map(([name, pieces]) => [name, plain(pieces)]) })),
});
