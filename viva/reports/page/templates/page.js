"use strict";
// Shows the contents of the page's JSON blocks. Text goes into text nodes only: nothing an agent said becomes markup.
(() => {
  const STEP = 200;
  // A conversation of more rounds is folded to those that a verdict is about.
  const LONG_TALK = 12;
  const FEWEST_FOLDED = 3;
  const MOST_JUMPS = 40;
  const SHORT_TASK = 700;
  const SHORT_FACTS = 8;
  const BESIDE = "The folder of parts that was written with this page has to lie beside it.";
  const byId = (id) => document.getElementById(id);
  const overview = byId("overview");
  const view = byId("run");
  const body = byId("rows");
  let inOrder = [];
  const rows = [];
  const words = new Map();
  let names = new Set();
  let matching = [];
  let limit = STEP;
  let scroll = 0;
  let opened = 0;
  let last = null;
  let origin = null;
  const title = document.title;

  const { el, button, unfold, jump, pictures, roundOf, insightsOf, citedOf } = runParts(view);

  // ---- what the page holds, or files beside it

  // A page that was opened as a file may run scripts of its folder, but not read other files: each part calls this.
  const entries = new Map();
  const held = new Set();
  const asked = new Map();
  let index = null;
  window.vivaPart = (number, pieces) => {
    if (held.has(number)) return;
    held.add(number);
    for (const [id, text] of pieces) {
      if (!entries.has(id)) entries.set(id, []);
      entries.get(id)[number - index.at[id][0]] = text;
    }
  };
  const load = (number) => {
    if (!asked.has(number)) {
      asked.set(number, new Promise((done, failed) => {
        const part = el("script", { src: index.files[number] });
        part.addEventListener("load", () => { part.remove(); (held.has(number) ? done : failed)(); });
        part.addEventListener("error", () => { part.remove(); asked.delete(number); failed(); });
        document.head.append(part);
      }));
    }
    return asked.get(number);
  };
  // The numbers of the parts that an entry needs and that are not there yet.
  const missing = (id) => {
    if (!index || !Object.hasOwn(index.at, id)) return [];
    const [first, last] = index.at[id];
    return Array.from({ length: last - first + 1 }, (_, place) => first + place).filter((number) => !held.has(number));
  };
  const entry = (id) => {
    if (index) return entries.has(id) && !missing(id).length ? JSON.parse(entries.get(id).join("")) : null;
    const block = byId(id);
    return block ? JSON.parse(block.textContent) : null;
  };
  // Loads entries one after the other, as a conversation names the entry of its case.
  const loaded = async (...ids) => {
    for (const id of ids) await Promise.all(missing(id).map(load));
  };

  // ---- the table of runs

  const said = (row) => {
    const number = row.dataset.n;
    if (words.has(number)) return words.get(number);
    const found = [row.textContent];
    const gather = (value) => {
      if (typeof value === "string") found.push(value);
      else if (Array.isArray(value)) value.forEach(gather);
      else if (value && typeof value === "object") {
        for (const [name, part] of Object.entries(value)) if (name !== "images" && name !== "facts" && name !== "compared") gather(part);
      }
    };
    gather(read(number));
    const all = found.join(" ").toLowerCase();
    if (!missing("c" + number).length) words.set(number, all);
    return all;
  };
  const read = (number) => entry("c" + number);
  // The task and the checks stand on the page once for all runs of a case.
  const paperOf = (data) => {
    const paper = data.paper === null ? null : entry("k" + data.paper);
    return paper || { task: "", facts: [], checks: {} };
  };
  const caseOf = (row) => row.cells[0].textContent.trim();
  const value = (id) => (byId(id) ? byId(id).value : "");

  const matches = () => {
    const outcome = value("by-outcome");
    const agent = value("by-agent");
    const name = value("by-case").trim();
    const text = value("by-text").trim().toLowerCase();
    const exact = names.has(name);
    return (row) =>
      (!outcome || (outcome[0] === "s" ? row.dataset.s : row.dataset.o) === outcome.slice(2)) &&
      (!agent || row.dataset.a === agent) &&
      (!name || (exact ? caseOf(row) === name : caseOf(row).toLowerCase().includes(name.toLowerCase()))) &&
      (!text || said(row).includes(text));
  };
  const show = () => {
    matching.forEach((row, place) => { row.hidden = place >= limit; });
    const shown = Math.min(limit, matching.length);
    const total = inOrder.length.toLocaleString("en");
    byId("count").textContent = matching.length === inOrder.length
      ? total + (inOrder.length === 1 ? " run" : " runs") + (shown < inOrder.length ? ", " + shown + " shown" : "")
      : matching.length.toLocaleString("en") + " of " + total + (inOrder.length === 1 ? " run" : " runs");
    byId("count").append(searching());
    byId("more").hidden = shown >= matching.length;
  };
  const searching = () => {
    if (!index || !value("by-text").trim() || held.size === index.files.length) return "";
    return unread ? ", some parts of the page cannot be read" : ", searching " + held.size + " of " + index.files.length + " parts";
  };
  // What runs said is in all parts.
  const search = async () => {
    const text = value("by-text");
    if (!index || !text.trim()) return;
    unread = false;
    for (let number = 0; number < index.files.length; number += 1) {
      if (held.has(number)) continue;
      try {
        await load(number);
      } catch {
        unread = true;
      }
      if (value("by-text") !== text) return;
      show();
      if (number + 1 === index.files.length) filter();
    }
  };
  const filter = () => {
    const wanted = matches();
    limit = STEP;
    matching = [];
    for (const row of inOrder) {
      if (wanted(row)) matching.push(row);
      else row.hidden = true;
    }
    show();
  };
  const order = () => {
    const key = value("order");
    const name = key.replace("-", "") === "number" ? "n" : key.replace("-", "");
    const sign = key[0] === "-" ? -1 : 1;
    inOrder.sort((a, b) => sign * (a.dataset[name] - b.dataset[name]) || a.dataset.n - b.dataset.n);
    body.append(...inOrder);
    filter();
  };
  let timer = 0;
  let unread = false;
  for (const id of ["by-outcome", "by-agent"]) if (byId(id)) byId(id).addEventListener("change", filter);
  for (const id of ["by-case", "by-text"]) {
    byId(id).addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => { filter(); search(); }, 120); });
  }
  byId("order").addEventListener("change", order);
  byId("more").addEventListener("click", () => { limit += STEP; show(); });
  document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
  for (const link of document.querySelectorAll(".matrix a")) {
    link.addEventListener("click", () => {
      byId("by-case").value = link.closest("tr").dataset.case;
      if (byId("by-agent")) byId("by-agent").value = link.dataset.agent;
      byId("by-outcome").value = byId("by-text").value = "";
      filter();
    });
  }

  // ---- one run

  const talkOf = (data) => {
    const cited = citedOf(data);
    const known = data.rounds.filter((round) => cited.has(round.n));
    const shown = [];
    let fold = [];
    const flush = () => {
      const nodes = fold.map((round) => roundOf(data, round));
      const count = fold.reduce((sum, round) => sum + (round.count || 1), 0);
      const end = fold[fold.length - 1];
      const words = fold.length ? "Rounds " + fold[0].n + " to " + (end.to || end.n) + ": " + count.toLocaleString("en") + " without a verdict" : "";
      shown.push(fold.length < FEWEST_FOLDED ? nodes : el("details", { class: "folded" }, el("summary", {}, words), nodes));
      fold = [];
    };
    data.rounds.forEach((round, place) => {
      const keep = data.rounds.length <= LONG_TALK || cited.has(round.n) || place === 0 || place === data.rounds.length - 1;
      if (keep) flush();
      if (keep) shown.push(roundOf(data, round));
      else fold.push(round);
    });
    flush();
    const jumps = data.rounds.length > 3 && known.length
      ? el("nav", { class: "jumps", "aria-label": "Rounds with verdicts" }, "Rounds with verdicts: ",
        known.slice(0, MOST_JUMPS).map((round) => [button(String(round.n), () => jump(-1, round.n), { class: "link", "aria-label": "round " + round.n }), " "]),
        known.length > MOST_JUMPS ? "and " + (known.length - MOST_JUMPS) + " more" : null)
      : null;
    return [jumps, shown];
  };
  const headOf = (row) => {
    const place = matching.indexOf(row);
    const link = (label, target) => target ? el("a", { href: "#run-" + target.dataset.n }, label) : el("span", {}, label);
    const agent = byId("by-agent") ? byId("by-agent").options[Number(row.dataset.a) + 1].textContent : view.dataset.agent;
    const score = row.querySelector("[title]");
    const trial = row.querySelector(".minor").textContent;
    const title = el("h1", { tabindex: -1, dir: "auto" }, caseOf(row));
    return [
      el("nav", { class: "paths", "aria-label": "Runs" }, el("a", { href: "#" }, "All runs"),
        link("Previous", matching[place - 1]), link("Next", place >= 0 ? matching[place + 1] : undefined),
        place >= 0 ? el("span", {}, (place + 1) + " of " + matching.length) : null),
      title,
      el("div", { class: "sub" }, row.querySelector(".chip").cloneNode(true),
        score && score.title ? el("span", { class: "strong" }, score.title) : null,
        agent ? el("bdi", {}, agent) : null, trial ? el("span", {}, "trial " + trial) : null),
    ];
  };
  const fill = (number) => {
    const data = read(number);
    if (data === null) {
      view.append(el("p", { class: "note" }, "This conversation is left out to limit the size of the page. viva replay shows it."));
      return;
    }
    const facts = el("dl", {}, data.facts.map(([name, fact]) => [el("dt", {}, name), el("dd", { dir: "auto" }, fact)]));
    const { task, facts: ofCase } = paperOf(data);
    if (task) view.append(el("details", { class: "task", open: task.length <= SHORT_TASK }, el("summary", {}, "Task"), el("div", { class: "text", dir: "auto" }, task)));
    if (ofCase.length) view.append(el("details", { class: "facts", open: ofCase.length <= SHORT_FACTS }, el("summary", {}, "The case"),
      el("dl", {}, ofCase.map(([name, fact]) => [el("dt", { dir: "auto" }, name), el("dd", { dir: "auto" }, fact)]))));
    view.append(el("details", { class: "facts" }, el("summary", {}, "Setup"), facts));
    view.append(el("p", { class: "note" }, "Print this run: ", el("code", { class: "command" }, data.replay)));
    if (data.files.length) view.append(el("details", { class: "facts files" }, el("summary", {}, "Files that the agent left"),
      el("dl", {}, data.files.map(([name, size]) => [el("dt", { dir: "auto" }, name), el("dd", {}, size)]))));
    if (data.error) view.append(el("div", { class: "fault text", dir: "auto" }, data.error));
    view.append(...insightsOf(data, paperOf(data)));
    const beside = data.rounds.some((round) => round.notes.length);
    view.append(el("section", { class: beside ? null : "plain" }, el("h2", {}, "Conversation"),
      data.given ? el("details", { class: "facts" }, el("summary", {}, "Given by the case, before the exam"), el("div", { class: "text", dir: "auto" }, data.given)) : null,
      data.system ? el("details", { class: "facts" }, el("summary", {}, "System text"), el("div", { class: "text", dir: "auto" }, data.system)) : null,
      data.rounds.some((round) => (round.steps || []).length > 1)
        ? el("p", { class: "note keys", "aria-live": "polite" }, "The left and right arrow keys go from step to step.") : null,
      talkOf(data),
      el("div", { class: "ending" }, "Stopped: " + data.stop, data.detail ? el("div", { class: "text", dir: "auto" }, data.detail) : null,
        pictures(data, data.final, "the end", data.captions),
        data.notes.map((note) => el("p", { class: "remark", dir: "auto" }, note)),
        data.printed.map(([stream, text]) => el("details", { class: "facts" }, el("summary", {}, "What it printed (" + stream + ")"),
          el("div", { class: "text", dir: "auto" }, text))))));
  };
  // A conversation may be in parts that are not there yet, and so may its case.
  const isThere = (number) => {
    if (missing("c" + number).length) return false;
    const data = index && read(number);
    return !data || data.paper === null || !missing("k" + data.paper).length;
  };
  const bring = async (number) => {
    await loaded("c" + number);
    const data = read(number);
    if (data && data.paper !== null) await loaded("k" + data.paper);
  };
  const open = (number) => {
    const row = rows[number];
    const turn = opened += 1;
    if (!overview.hidden) {
      scroll = window.scrollY;
      origin = document.activeElement.closest("a");
    }
    last = row;
    document.title = caseOf(row) + " · " + title;
    view.replaceChildren(...headOf(row));
    if (isThere(number)) fill(number);
    else {
      const note = el("p", { class: "note", role: "status" }, "Reading the conversation …");
      view.append(note);
      bring(number).then(() => {
        if (turn !== opened) return;
        note.remove();
        fill(number);
      }, () => { note.textContent = "This conversation cannot be read. " + BESIDE; });
    }
    overview.hidden = true;
    view.hidden = false;
    window.scrollTo(0, 0);
    view.querySelector("h1").focus({ preventScroll: true });
  };
  const route = () => {
    const run = /^#run-(\d+)$/.exec(location.hash);
    if (run && rows[run[1]]) {
      open(Number(run[1]));
      return;
    }
    if (overview.hidden) {
      opened += 1;
      overview.hidden = false;
      view.hidden = true;
      view.replaceChildren();
      document.title = title;
      window.scrollTo(0, scroll);
      // Keyboard users return to where they were.
      if (!last || location.hash !== "") return;
      const link = last.querySelector("a");
      const same = origin && origin.getAttribute("href") === link.getAttribute("href");
      (same ? origin : link).focus({ preventScroll: true });
    }
  };
  window.addEventListener("hashchange", route);
  const begin = () => {
    inOrder = Array.from(body.rows);
    for (const row of inOrder) rows[row.dataset.n] = row;
    names = new Set(inOrder.map(caseOf));
    matching = inOrder.slice();
  };
  document.addEventListener("DOMContentLoaded", async () => {
    const block = byId("parts");
    index = block ? JSON.parse(block.textContent) : null;
    if (missing("rows").length) {
      try {
        await loaded("rows");
        // The same template escaped these rows and those in the page.
        const more = document.createElement("template");
        more.innerHTML = entry("rows");
        body.append(more.content);
        begin();
        order();
      } catch {
        body.closest(".scroll").before(el("p", { class: "warning" }, "Only the first runs are shown. " + BESIDE));
      }
    }
    // Of one run there is nothing to compare: it is shown at once.
    if (inOrder.length === 1 && !location.hash) location.replace("#run-0");
    else route();
  });
  // ---- from step to step

  const stops = () => Array.from(view.querySelectorAll(".step, .ending"));
  const walk = (way) => {
    const all = stops();
    if (!all.length) return;
    const here = all.findIndex((node) => node.classList.contains("current"));
    // After scrolling or clicking, the next step is the one after what is on the screen.
    const near = all.findIndex((node) => node.getBoundingClientRect().bottom > 8);
    const from = here >= 0 && all[here].contains(document.activeElement) ? here : way > 0 ? near - 1 : near;
    const next = all[Math.max(0, Math.min(all.length - 1, from + way))];
    for (const node of all) node.classList.remove("current");
    next.classList.add("current");
    unfold(next);
    const target = next.querySelector("summary") || next;
    if (target === next) next.tabIndex = -1;
    target.focus({ preventScroll: true });
    next.scrollIntoView({ block: "start" });
    const keys = view.querySelector(".keys");
    const steps = all.length - 1;
    if (keys) keys.textContent = next === all[steps] ? "End." : "Step " + (all.indexOf(next) + 1) + " of " + steps + ".";
  };
  document.addEventListener("keydown", (event) => {
    if (!overview.hidden || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.key === "Escape") location.hash = "";
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    // A long text with the focus scrolls by itself.
    if (!way || document.activeElement.closest("input, select, textarea, .long")) return;
    event.preventDefault();
    walk(way);
  });
  begin();
  show();
})();
