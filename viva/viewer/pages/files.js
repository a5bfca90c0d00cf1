// The files of a run's workspace beside those of its case: what is new, changed or removed, with the lines that differ.

import { ask, fileLink } from "./api.js";
import { counted, here } from "./address.js";
import { chip, el, figure, note, table } from "./elements.js";

const TONES = { new: "good", changed: "open", removed: "bad" };

export class Files {
  constructor(holder, state) {
    this.state = state;
    this.holder = holder;
  }

  async show() {
    const { state } = this;
    const found = await ask(`${state.journal}/files`, { id: state.id });
    const { file } = state.query;
    const rows = found.files.map((each) => el("tr", { "aria-current": each.path === file && "true" }, el("td", {}, chip(TONES[each.change], each.change === "same" ? "as given" : each.change)),
      el("th", { dir: "auto" }, each.path === null || each.link ? each.name : el("a", { href: here(state, { file: each.path }) }, each.name)),
      figure(each.link ? "link" : each.before ? `${each.before} → ${each.size}` : each.size),
      figure(each.path === null || each.link || each.change === "removed" ? "" : fileLink(state.journal, state.id, each.path, "download"))));
    const notes = [found.note, found.known ? "" : "It is not known what the agent was given.", found.more ? counted(found.more, "more file") + "." : "", found.files.length ? "" : "There are no files."].filter(Boolean);
    this.holder.replaceChildren(el("section", {}, rows.length ? table("files", null, rows) : null,
      notes.map((words) => note(words)), file ? await this.difference(file) : null));
  }

  async difference(file) {
    const found = await ask(`${this.state.journal}/file`, { id: this.state.id, path: file }).catch((error) => ({ kind: error.message, lines: [] }));
    const words = { large: "It is too large to be shown; download it.", binary: "It is binary; download it." };
    const numbers = (each) => [each[1] ?? "", each[2] ?? ""].map((number) => el("span", { class: "at" }, number));
    const lines = found.lines.map((each) => (each[0] === "@" ? el("div", { class: "gap" }, "⋯") : el("div", { class: { "+": "added", "-": "removed", " ": "same" }[each[0]] }, numbers(each), el("span", { class: "sign" }, each[0]), el("span", { class: "code", dir: "auto" }, each[3]))));
    return el("section", { class: "difference" }, el("h2", { dir: "auto" }, found.path || file), found.note ? note(found.note) : null,
      found.kind === "text" ? el("div", { class: "diff", tabindex: 0, role: "region", "aria-label": "lines of the file" }, lines.length ? lines : el("div", { class: "gap" }, "The file is empty.")) : note(words[found.kind] || found.kind),
      found.cut ? note(counted(found.cut, "more line") + ".") : null);
  }
}
