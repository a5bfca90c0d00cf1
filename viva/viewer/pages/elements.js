// What every view is made of.

export const byId = (id) => document.getElementById(id);
const parts = runParts(byId("main"));
export const el = parts.el;
export const button = parts.button;
export const chip = (kind, ...words) => el("span", { class: "chip " + (kind || "") }, words);
export const note = (...words) => el("p", { class: "note" }, words);
// A table whose heads are words with the class of their column.
export const table = (name, heads, rows) => el("div", { class: "scroll" }, el("table", { class: name },
  heads && el("thead", {}, el("tr", {}, heads.map(([words, kind]) => el("th", { class: kind, dir: "auto" }, words)))), el("tbody", {}, rows)));
export const figure = (...inner) => el("td", { class: "n" }, inner);
