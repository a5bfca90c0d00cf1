// Chooses the view of the address.

import { ask, listen, Refused } from "./api.js";
import { address, go, moved, read, count } from "./address.js";
import { Beside } from "./beside.js";
import { renew } from "./drawn.js";
import { byId, chip, el } from "./elements.js";
import { Grid } from "./grid.js";
import { showHelp } from "./help.js";
import { History } from "./history.js";
import { enlarge } from "./pictures.js";
import { Label } from "./label.js";
import { Overview } from "./overview.js";
import { Run } from "./run.js";
import { RunList } from "./runs.js";
import { Search } from "./search.js";
import { Versus } from "./versus.js";

const VIEWS = { __proto__: null, overview: Overview, runs: RunList, grid: Grid, run: Run, beside: Beside, versus: Versus, history: History, search: Search, label: Label };
const TABS = [["overview", "Overview", "o"], ["runs", "Runs", "l"], ["grid", "Cases by agents", "g"], ["search", "Search", "s"], ["history", "History", "t"], ["versus", "Two journals", "v"], ["label", "Label", ""]];
const main = byId("main");
const journals = new Map();
let view = null;
let shown = "";
let lost = false;
let failed = false; // the view could not be drawn

const problem = (words) => {
  byId("problem").textContent = words;
  byId("problem").hidden = !words;
};

const report = (error) => {
  if (!(error instanceof Refused)) console.error(error); // the page's mistake
  problem(error.message);
};

const tabs = () => TABS.filter(([name]) => (name !== "versus" || journals.size > 1) && (name !== "label" || journals.get(read().journal)?.labels));

const drawBar = () => {
  const state = read();
  const here = journals.get(state.journal);
  const list = byId("journals");
  const choice = journals.size > 1
    ? el("select", { "aria-label": "Journal" }, Array.from(journals.values(), (each) =>
      el("option", { value: each.n, selected: each.n === state.journal }, `${each.name}${each.live || each.state === "missing" ? ` (${each.state})` : ""}`)))
    : el("strong", { dir: "auto" }, here ? here.name : "");
  if (journals.size > 1) choice.addEventListener("change", () => go({ journal: Number(choice.value), view: "runs" }));
  if (!list.contains(document.activeElement)) list.replaceChildren(choice);
  renew(byId("views"), ...tabs().map(([name, words]) => el("a", { href: address({ journal: state.journal, view: name }),
    "aria-current": state.view === name && "page" }, words)));
  if (!here) return;
  const ended = here.runs - (here.counts.running || 0);
  const parts = Object.entries(here.counts).map(([name, number]) => chip(name, `${count(number)} ${name}`));
  const bar = here.planned > 0 && here.live ? el("progress", { max: here.planned, value: ended, "aria-label": "runs ended" }) : null;
  byId("status").replaceChildren(...[here.note ? el("span", { class: "note" }, here.note) : el("span", { class: "state " + here.state }, here.state), bar,
    here.planned ? el("span", {}, `${count(ended)} of ${count(here.planned)} runs`) : null, ...parts,
    here.damage ? el("span", { class: "remark" }, here.damage) : null, here.problem ? el("span", { class: "remark", role: "alert" }, here.problem) : null].filter(Boolean));
};

const route = async () => {
  const state = read();
  // The list and a run follow their addresses; others are made anew.
  const own = ["runs", "run"].includes(state.view) ? "" : JSON.stringify(state.query);
  const key = [state.journal, state.view, state.id, own].join("/");
  if (key !== shown || !view) {
    shown = key;
    const page = el("div", {}); // what an earlier view still does is not on the screen
    main.replaceChildren(page);
    main.dataset.view = state.view;
    problem("");
    document.title = "Viva";
    failed = false;
    const made = view = new (VIEWS[state.view] || RunList)(page, state);
    await made.ready?.catch((error) => { if (made === view) { failed = true; report(error); } });
  } else await view.moved?.(state);
  drawBar();
};

const walk = (way) => {
  const all = Array.from(main.querySelectorAll(main.querySelector("a.row") ? "a.row" : "a"));
  if (!all.length) return;
  const here = all.indexOf(document.activeElement);
  const next = all[Math.max(0, Math.min(all.length - 1, here + way))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
};
const walkRounds = (way) => {
  const all = Array.from(main.querySelectorAll(".round"));
  const here = all.findIndex((node) => node.getBoundingClientRect().bottom > 60);
  all[Math.max(0, Math.min(all.length - 1, here + way))]?.scrollIntoView({ block: "start" });
};
const open = (view) => {
  const { where, order } = read().query;
  go({ ...read(), view, id: "", query: { where, order } });
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "Escape") {
    if (typing) typing.blur();
    else if (read().query.part) go(moved(read(), { part: "", file: "", from: "", asked: "" }));
    else if (read().view !== "runs") open("runs");
    return;
  }
  if (typing) return;
  if (view?.key?.(event.key)) { event.preventDefault(); return; }
  const tab = tabs().find((each) => each[2] === event.key);
  const keys = {
    "/": () => main.querySelector("input[type=search]")?.focus(),
    j: () => (read().view === "run" ? walkRounds(1) : walk(1)),
    k: () => (read().view === "run" ? walkRounds(-1) : walk(-1)),
    "?": showHelp,
  };
  const act = tab ? () => open(tab[0]) : keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

window.addEventListener("hashchange", route);
// What could not be done is said.
window.addEventListener("unhandledrejection", (event) => { event.preventDefault(); report(event.reason); });
const take = (changed) => {
  if (lost) problem("");
  lost = false;
  const news = changed.filter((each) => journals.get(each.n)?.version !== each.version);
  for (const each of changed) journals.set(each.n, each);
  drawBar();
  if (!failed) { if (news.some((each) => view.several || each.n === read().journal)) view.changed(); }
  else if (!document.activeElement.matches("input, select")) { shown = ""; route(); } // what was missing may be there now
};
for (const each of await ask("journals")) journals.set(each.n, each);
await route();
listen(take, () => { lost = true; problem("The viewer's server does not answer; it may have been ended. The page connects again by itself."); });
main.addEventListener("click", enlarge);
main.addEventListener("submit", (event) => event.preventDefault());
