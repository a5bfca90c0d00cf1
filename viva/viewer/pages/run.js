// One run: facts, verdicts, and its rounds, of which only those near the screen are in the page.

import { ask, fileLink, live, pictureAddress, send } from "./api.js";
import { address, counted, go, here, moved, whole } from "./address.js";
import { button, chip, el, note } from "./elements.js";
import { Files } from "./files.js";
import { renew } from "./drawn.js";
import { Judge } from "./judge.js";
import { Rounds } from "./rounds.js";
import { Timings } from "./timings.js";

const PARTS = { __proto__: null, timings: Timings, judge: Judge, files: Files };
const NO_PART = { part: "", file: "", from: "", asked: "" };

export class Run {
  constructor(main, state) {
    this.main = main;
    this.state = state;
    this.comments = null;
    this.parts = runParts(main, (number, round, id) => this.follow(number, round, id));
    [this.head, this.form, this.beside, this.talk] = ["div", "form", "div", "div"].map((tag) => el(tag));
    main.append(this.head, this.beside, this.talk);
    this.fillForm();
    this.rounds = new Rounds(this.talk, state, this.parts, (data) => this.adapt(data));
    this.ready = this.refresh(true);
  }

  // Drawn once: a reader types here while the conversation goes on.
  fillForm() {
    this.count = el("output", {});
    const jump = el("input", { type: "number", min: 1, "aria-label": "Go to round", placeholder: "round" });
    jump.addEventListener("change", () => { if (Number(jump.value) >= 1) this.follow(-1, Number(jump.value)); });
    const words = el("input", { type: "search", placeholder: "words in this run", "aria-label": "Find in this run" });
    const hits = el("span", { class: "hits" });
    words.addEventListener("change", async () => {
      if (!words.value.trim()) { hits.replaceChildren(); return; }
      const found = await ask(`${this.state.journal}/find`, { id: this.state.id, words: words.value });
      hits.replaceChildren(...(found.numbers.length ? found.numbers.slice(0, 40).flatMap((each) => [button(String(each), () => this.follow(-1, each), { class: "link" }), " "]) : ["nothing found"]));
    });
    this.form.className = "filters talk conversation";
    this.form.append(el("label", {}, "Round", jump), el("label", { class: "grow" }, "Find", words), hits, this.count);
  }

  adapt(data) {
    data.images = data.images.map((image) => pictureAddress(this.state.journal, image));
    data.full = Object.fromEntries(data.images.map((image, place) => [place, image]));
    return data;
  }

  async refresh(first = false) {
    const round = whole(this.state.query.round, 0);
    const position = first && round ? await ask(`${this.state.journal}/position`, { id: this.state.id, number: round }) : this.rounds.nearest();
    const begin = Math.max(0, position - (position % Rounds.CHUNK));
    const data = this.adapt(await ask(`${this.state.journal}/run`, { id: this.state.id, first: begin, most: Rounds.CHUNK }));
    this.data = data;
    this.showHead(data);
    this.rounds.update(data);
    await this.showPart();
    if (first) {
      if (round) await this.rounds.show(position);
      this.head.querySelector("h1").focus({ preventScroll: true });
    }
  }

  changed(versions) {
    if (this.busy) { this.again = true; return; }
    this.busy = true;
    this.refresh().finally(() => {
      this.busy = false;
      if (this.again) { this.again = false; this.changed(versions); }
    });
  }

  // What the address chooses beside the conversation.
  async showPart() {
    const { part = "" } = this.state.query;
    const Part = PARTS[part];
    this.main.classList.toggle("aside-view", Boolean(Part));
    if (!Part) { this.beside.replaceChildren(); this.part = null; return; }
    if (this.part?.name !== part) {
      this.beside.replaceChildren();
      this.part = { name: part, view: new Part(this.beside, this.state) };
    }
    await this.part.view.show(this.data);
  }

  // Called when the address of the same run changed.
  moved(state) {
    this.state.query = state.query;
    if (!this.data) return null;
    this.showHead(this.data);
    return this.showPart();
  }

  key(key) {
    const names = ["", "timings", "judge", "files"];
    const name = names[Number(key) - 1];
    if (!/^[1-4]$/.test(key) || (name && !this.tabs?.[name])) return false;
    go(moved(this.state, { ...NO_PART, part: name }));
    return true;
  }

  async follow(number, round, id) {
    if (this.state.query.part) { this.state.query = { ...this.state.query, part: "" }; await this.showPart(); this.showHead(this.data); }
    const position = await ask(`${this.state.journal}/position`, { id: this.state.id, number: round });
    if (position >= this.rounds.count) await this.refresh();
    await this.rounds.show(position);
    this.state.query = { ...this.state.query, round };
    go(this.state, { replace: true });
    this.parts.jump(number, round, id);
  }

  showHead(data) {
    const { insightsOf, pictures } = this.parts;
    const row = data.row;
    if (this.main.isConnected) document.title = `${row.case} · Viva`;
    const back = address({ ...this.state, view: "runs", id: "", query: { where: this.state.query.where, order: this.state.query.order } });
    const folded = (name, words, ...inner) => el("details", { class: "facts " + name, "data-fold": name, open: this.open?.has(name) }, el("summary", {}, words), ...inner);
    this.open = new Set(Array.from(this.head.querySelectorAll("details[data-fold][open]"), (node) => node.dataset.fold));
    if (!this.shown && data.paper.task && data.paper.task.length < 700) this.open.add("task");
    if (!this.shown) this.head.after(this.form);
    this.shown = true;
    const file = (name, size) => fileLink(this.state.journal, this.state.id, name, [name, " ", el("small", {}, size)]);
    // An export has some of the parts of a run.
    const has = (name) => live || Object.keys(data.answers).some((key) => key.startsWith(name + "?"));
    this.tabs = { "": "Conversation", timings: has("timings") && data.count ? "Time and cost" : "", judge: has("asked") && data.asked ? "What the judge was asked" : "", files: has("files") && (data.files.length || data.paper.task) ? `Files${data.files.length ? ` (${data.files.length})` : ""}` : "" };
    const { part = "" } = this.state.query;
    const tabs = el("nav", { class: "tabs", "aria-label": "Parts of the run" }, Object.entries(this.tabs).map(([name, words]) => (words ? el("a", { "aria-current": part === name && "page",
      href: here(this.state, { ...NO_PART, part: name }) }, words) : null)));
    renew(this.head,
      el("nav", { class: "paths", "aria-label": "Runs" }, el("a", { href: back }, "All runs")),
      el("h1", { tabindex: -1, dir: "auto" }, row.case),
      el("div", { class: "sub" }, chip(row.standing, row.judging ? "judging" : row.standing),
        row.words ? el("span", { class: "strong" }, row.words) : null, el("bdi", {}, row.agent), row.trial > 1 ? el("span", {}, "trial " + row.trial) : null,
        row.played ? el("span", {}, row.played) : null),
      ...[
        data.paper.task ? folded("task", "Task", el("div", { class: "text", dir: "auto" }, data.paper.task)) : null,
        folded("setup", "Setup", el("dl", {}, data.facts.map(([name, fact]) => [el("dt", {}, name), el("dd", { dir: "auto" }, fact)]))),
        data.files.length && !has("files") ? folded("files", "Files that the agent left", el("ul", {}, data.files.map(([name, size]) => el("li", { dir: "auto" }, size ? file(name, size) : name)))) : null,
        data.error ? el("div", { class: "fault text", dir: "auto" }, data.error) : null,
        this.tabs.timings ? tabs : null,
        el("div", { class: "conversation" }, insightsOf(data, data.paper)),
        data.system ? folded("system", "System text", el("div", { class: "text", dir: "auto" }, data.system)) : null,
      ].filter(Boolean));
    this.count.textContent = counted(data.count, "round");
    this.ending = el("div", { class: "ending" }, row.standing === "running" ? (row.judging ? "The conversation has ended; it is being judged." : "The conversation goes on.") : "Stopped: " + data.stop,
      data.detail ? el("div", { class: "text", dir: "auto" }, data.detail) : null, pictures(data, data.final, "the end", data.captions),
      data.notes.map((note) => el("p", { class: "remark", dir: "auto" }, note)),
      data.printed.map(([stream, text]) => el("details", { class: "facts" }, el("summary", {}, `What it printed (${stream})`), el("div", { class: "text", dir: "auto" }, text))));
    this.main.querySelector(".ending")?.remove();
    if (this.comments) this.comments.before(this.ending);
    else {
      this.main.append(this.ending);
      this.showComments();
    }
  }

  // What readers say is kept beside the journal.
  async showComments() {
    this.comments = el("section", { class: "comments" });
    this.main.append(this.comments);
    const list = el("ol", {});
    const text = el("textarea", { rows: 2, "aria-label": "comment", placeholder: "A comment on this run" });
    const round = el("input", { type: "number", min: 1, "aria-label": "on round", placeholder: "round" });
    const add = (each) => list.append(el("li", {}, el("small", {}, [each.by, each.at].filter(Boolean).join(" · "), each.round ? [" · ", button(`round ${each.round}`,
      () => this.follow(-1, each.round), { class: "link" })] : null), el("div", { class: "text", dir: "auto" }, each.text)));
    const problem = el("p", { class: "remark", role: "alert" });
    const save = button("Comment", async () => {
      try {
        add(await send(`${this.state.journal}/comment`, { run: this.state.id, text: text.value, round: round.value ? Number(round.value) : null }));
        text.value = problem.textContent = "";
      } catch (error) { problem.textContent = error.message; }
    });
    const form = live ? el("div", { class: "filters" }, text, round, save) : note("An export is read-only; comments are added with viva view.");
    this.comments.append(el("h2", {}, "Comments"), list, form, problem);
    for (const each of await ask(`${this.state.journal}/comments`, { id: this.state.id })) add(each);
  }
}
