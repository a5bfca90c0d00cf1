// What every view is made of.

const parts = runParts(document.getElementById("main"));
export const el = parts.el;
export const button = parts.button;
export const chip = (kind, ...words) => el("span", { class: "chip " + (kind || "") }, words);
export const note = (...words) => el("p", { class: "note" }, words);
