"use strict";
// Shows the contents of the page's JSON blocks. Text goes into text nodes only: nothing an agent said becomes markup.
(() => {
  const STEP = 200;
  // A conversation of more rounds is folded to those that a verdict is about.
  const LONG_TALK = 12;
  const FEWEST_FOLDED = 3;
  const MOST_JUMPS = 40;
  const MOST_GOOD = 6;
  const SHORT_CHECK = 14;
  const SHORT_TASK = 700;
  const SHORT_FACTS = 8;
  const byId = (id) => document.getElementById(id);
  const overview = byId("overview");
  const view = byId("run");
  const body = byId("rows");
  const inOrder = Array.from(body.rows);
  const rows = [];
  for (const row of inOrder) rows[row.dataset.n] = row;
  const words = new Map();
  let matching = inOrder.slice();
  let limit = STEP;
  let scroll = 0;
  let last = null;
  let origin = null;
  const title = document.title;

  const el = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === true) node.setAttribute(name, "");
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
    }
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined && child !== "") node.append(child);
    }
    return node;
  };
  const button = (label, act, attributes) => {
    const node = el("button", { type: "button", ...attributes }, label);
    node.addEventListener("click", act);
    return node;
  };

  // ---- the table of runs

  const said = (row) => {
    const number = row.dataset.n;
    if (!words.has(number)) {
      const found = [row.textContent];
      const gather = (value) => {
        if (typeof value === "string") found.push(value);
        else if (Array.isArray(value)) value.forEach(gather);
        else if (value && typeof value === "object") {
          for (const [name, part] of Object.entries(value)) if (name !== "images" && name !== "facts" && name !== "compared") gather(part);
        }
      };
      gather(read(number));
      words.set(number, found.join(" ").toLowerCase());
    }
    return words.get(number);
  };
  const read = (number) => {
    const block = byId("c" + number);
    return block ? JSON.parse(block.textContent) : null;
  };
  // The task and the checks stand on the page once for all runs of a case.
  const paperOf = (data) => {
    const block = data.paper === null ? null : byId("k" + data.paper);
    return block ? JSON.parse(block.textContent) : { task: "", facts: [], checks: {} };
  };
  const caseOf = (row) => row.cells[0].textContent.trim();
  const names = new Set(rows.map(caseOf));
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
    const total = rows.length.toLocaleString("en");
    byId("count").textContent = matching.length === rows.length
      ? total + (rows.length === 1 ? " run" : " runs") + (shown < rows.length ? ", " + shown + " shown" : "")
      : matching.length.toLocaleString("en") + " of " + total + (rows.length === 1 ? " run" : " runs");
    byId("more").hidden = shown >= matching.length;
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
  for (const id of ["by-outcome", "by-agent"]) if (byId(id)) byId(id).addEventListener("change", filter);
  for (const id of ["by-case", "by-text"]) {
    byId(id).addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 120); });
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

  const said_by = (verdicts, pieces, attributes = {}) => {
    const length = pieces.reduce((sum, piece) => sum + (typeof piece === "string" ? piece : piece[0]).length, 0);
    const long = length > 4000;
    const node = el("div", { dir: "auto", class: "text" + (long ? " long" : "") + (attributes.mono ? " mono" : ""), tabindex: long ? 0 : null });
    for (const piece of pieces) {
      if (typeof piece === "string") node.append(piece);
      else {
        const tones = piece[1].map((number) => verdicts[number].tone);
        const tone = ["bad", "excluded", "open", "good"].find((each) => tones.includes(each));
        const labels = piece[1].map((number) => verdicts[number].label + ": " + verdicts[number].statement);
        node.append(el("mark", { class: tone, "data-v": piece[1].join(" "), title: labels.join("\n").slice(0, 500) }, piece[0]));
      }
    }
    return node;
  };
  const light = (number, on) => {
    for (const node of view.querySelectorAll("[data-v~='" + number + "']")) node.classList.toggle("lit", on);
  };
  const unfold = (node) => {
    for (let fold = node.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  };
  const jump = (number, round, id) => {
    const place = byId("round-" + round);
    const cited = place && id && Array.from(place.querySelectorAll(".step")).find((step) => step.dataset.id === id);
    const mark = (cited && (cited.querySelector("mark[data-v~='" + number + "']") || cited)) || place && (place.querySelector("mark[data-v~='" + number + "']") || place.querySelector(".step [data-v~='" + number + "']"));
    const target = mark || place;
    if (!target) return;
    unfold(target);
    target.scrollIntoView({ block: target === cited || target === place ? "start" : "center" });
    for (const node of view.querySelectorAll(".lit")) node.classList.remove("lit");
    light(number, true);
  };
  const pictures = (data, list, what, captions) => {
    if (!list.length) return null;
    return el("div", { class: "pictures" }, list.map((image, place) => {
      const caption = captions[place];
      // What is scaled down or left out here is whole in the journal.
      const whole = (node) => Object.hasOwn(data.full, image)
        ? el("a", { href: data.full[image], target: "_blank", rel: "noopener", title: "The full picture, in the journal" }, node) : node;
      if (typeof image !== "number") return whole(el("span", { class: "note", dir: "auto" }, "image not shown: " + image));
      const alt = (caption ? caption + ", " : "") + "image " + (place + 1) + " of " + what;
      const shown = whole(el("img", { src: data.images[image], alt, loading: "lazy" }));
      return caption ? el("figure", {}, shown, el("figcaption", { dir: "auto" }, caption)) : shown;
    }));
  };
  const sideOf = ([label, parts]) => el("span", { class: "side" }, el("span", { class: "label" }, label),
    el("span", { class: "value" }, parts.map((part) => typeof part === "string" ? part
      : el("b", { class: "differs" + (part[0].includes("\n") ? " newline" : "") }, part[0]))));
  const frame = (text) => text ? el("span", { class: "frame" }, text) : null;
  const reasonOf = (verdict) => {
    const found = verdict.compared;
    const reason = verdict.reason;
    if (!reason) return null;
    if (!found) {
      // The name of the exception and the line of the check are paler than what the check says.
      const [head, tail] = verdict.frame || [0, 0];
      return el("div", { class: "reason", dir: "auto" }, frame(reason.slice(0, head)), reason.slice(head, reason.length - tail), frame(reason.slice(reason.length - tail)));
    }
    return el("div", { class: "reason", dir: "auto" }, frame(found.head.trim()), el("span", { class: "versus" }, found.sides.map(sideOf)),
      found.note ? el("span", { class: "remark" }, found.note) : null, frame(found.tail.trim()));
  };
  const checkOf = (paper, verdict) => {
    if (verdict.check === undefined || !Object.hasOwn(paper.checks, verdict.check)) return null;
    const lines = paper.checks[verdict.check].split("\n");
    const node = el("details", { class: "facts check" }, el("summary", {}, "The check"),
      el("div", { class: "source", tabindex: 0, role: "region", "aria-label": "source of the check" },
        lines.map((line, place) => el("span", { class: place + 1 === verdict.line ? "line at" : "line" }, line + "\n"))));
    node.open = verdict.tone !== "good" && lines.length <= SHORT_CHECK;
    return node;
  };
  // What the judge's model answered; the requests are as long as the conversation, so a command shows them.
  const askedOf = (data, verdict) => verdict.asked === undefined ? null
    : el("details", { class: "facts asked" }, el("summary", {}, "What the judge answered"),
      verdict.asked.answers.map(([judge, vote, digest, answer]) => [
        el("h4", { dir: "auto" }, judge + (vote > 1 ? ", vote " + vote : "") + " · request " + digest),
        el("div", { class: "text mono", dir: "auto" }, answer)]),
      verdict.asked.note ? el("p", { class: "note" }, verdict.asked.note) : null,
      verdict.asked.more ? el("p", { class: "note" }, verdict.asked.more + " more left out.") : null,
      el("p", { class: "note" }, "The whole exchange: ", el("code", { dir: "auto" }, data.replay + verdict.asked.how)));
  const pointOf = (data, paper, verdict, number, others) => el("li", { class: verdict.tone },
    el("div", {}, el("span", { class: "chip " + verdict.tone }, verdict.label),
      el("small", { class: "weight" }, verdict.weight === null ? verdict.score
        : "weight " + (others.length ? others.reduce((sum, each) => sum + Number(each.weight), Number(verdict.weight)) : verdict.weight))),
    el("div", {},
      verdict.about === null ? null : verdict.about[1] === null
        ? el("div", { class: "about", dir: "auto" }, verdict.about[0])
        : button(verdict.about[0], () => jump(number, verdict.about[1]), { class: "about", dir: "auto" }),
      others.length && verdict.check ? el("div", { class: "about", dir: "auto" }, [verdict, ...others].map((each) => each.check).join(", ")) : null,
      [verdict, ...others].map((each) => el("div", { class: "statement", dir: "auto" }, each.statement)),
      reasonOf(verdict),
      verdict.quotes.map(([place, quoted, round, id]) => round === null
        ? el("div", { class: "quote", dir: "auto" }, el("span", {}, place), quoted)
        : button([el("span", {}, place), quoted], () => jump(number, round, id), { class: "quote", dir: "auto" })),
      el("div", { class: "by", dir: "auto" }, ["by " + verdict.by].concat(verdict.votes, verdict.flags.map((flag) => "[" + flag + "]")).join(" · "),
        (verdict.mentions || []).map((round) => [" · ", button("round " + round, () => jump(number, round), { class: "link" })])),
      [verdict, ...others].map((each) => askedOf(data, each)),
      [verdict, ...others].map((each) => checkOf(paper, each))));
  // A sub-goal beside what it rests on: its words stand with the insight.
  const citeOf = (data, number) => el("div", { class: "verdict cite " + data.verdicts[number].tone, "data-v": number },
    el("span", { class: "chip " + data.verdicts[number].tone }, data.verdicts[number].label),
    el("span", { dir: "auto" }, data.verdicts[number].statement));
  // A verdict beside what it is about; pointing at it marks the words that it quotes.
  const noteOf = (data, number) => {
    const verdict = data.verdicts[number];
    const note = el("div", { class: "verdict " + verdict.tone, "data-v": number, tabindex: 0 },
      el("span", { class: "chip " + verdict.tone }, verdict.label), verdict.score === null ? null : el("small", {}, verdict.score),
      el("span", { dir: "auto" }, verdict.statement),
      reasonOf(verdict));
    for (const [event, on] of [["mouseenter", true], ["mouseleave", false], ["focus", true], ["blur", false]]) {
      note.addEventListener(event, () => light(number, on));
    }
    return note;
  };
  const stepOf = (data, step, what) => {
    const texts = el("div", {}, step.cites.map((number) => citeOf(data, number)),
      step.texts.map(([name, pieces]) => [el("h4", {}, name), said_by(data.verdicts, pieces, { mono: true })]));
    const node = el("details", { class: "step" + (step.failed ? " failed" : ""), "data-id": step.id },
      el("summary", {}, el("span", { class: "chip" }, step.kind), " ", el("bdi", {}, step.title), el("small", {}, [step.failed ? "failed" : "", step.facts].filter(Boolean).join(", ")),
        step.notes.map((number) => el("span", { class: "chip " + data.verdicts[number].tone }, data.verdicts[number].label))),
      step.notes.map((number) => noteOf(data, number)),
      step.captions.length ? el("div", { class: "scene" }, pictures(data, step.images, what, step.captions), texts) : texts,
      step.cut ? el("p", { class: "note" }, "The texts of this step are left out because the round is too long; viva replay shows them.") : null,
      step.extra ? el("details", { class: "facts" }, el("summary", {}, "further attributes"), el("div", { class: "text mono", dir: "auto" }, step.extra)) : null,
      step.captions.length ? null : pictures(data, step.images, what, []));
    node.open = node.querySelector("mark, img, .verdict:not(.good)") !== null;
    return node;
  };
  const turn = (data, who, pieces, kind) => pieces === null ? null
    : el("div", { class: "turn " + kind }, el("div", { class: "who" }, who), said_by(data.verdicts, pieces));
  const roundOf = (data, round) => {
    const head = el("header", {}, "Round " + round.n + (round.facts ? " · " + round.facts : ""));
    const margin = el("aside", { class: "margin", "aria-label": "verdicts on round " + round.n }, round.notes.map((number) => noteOf(data, number)));
    const what = "round " + round.n;
    const talk = el("div", {});
    if (round.left) talk.append(el("p", { class: "note" }, "Left out because it is too long; viva replay shows it."));
    else {
      talk.append(...[
        turn(data, "Examiner", round.examiner, "examiner"),
        round.plan.length ? el("details", { class: "facts plan" }, el("summary", {}, "Plan"), round.plan.map(([name, words]) => [el("h4", {}, name), el("div", { class: "text", dir: "auto" }, words)])) : null,
        round.steps.length ? el("div", { class: "steps" }, round.steps.map((step) => stepOf(data, step, what))) : null,
        round.more ? el("p", { class: "note" }, round.more + (round.more === 1 ? " more step" : " more steps") + " left out.") : null,
        turn(data, "Agent", round.agent, "agent" + (round.error ? " failed" : "")),
        round.error ? el("div", { class: "fault text", dir: "auto" }, "The agent failed: " + round.error) : null,
        round.cites.length ? el("div", { class: "cites" }, round.cites.map((number) => citeOf(data, number))) : null,
        pictures(data, round.images, what, round.captions),
      ].filter((node) => node !== null));
    }
    return el("section", { class: "round", id: "round-" + round.n }, head, talk, margin);
  };
  // What is wrong comes first; many verdicts that are good are folded.
  const pointsOf = (data, paper, own, start) => {
    const rank = ({ tone }) => ["bad", "excluded", "open", "good"].indexOf(tone);
    const sorted = own.map((verdict, place) => [verdict, start + place]).sort((a, b) => rank(a[0]) - rank(b[0]) || a[1] - b[1]);
    const items = ([verdict, number, others = []]) => pointOf(data, paper, verdict, number, others);
    // Points that differ in their statement only have one row, with the statement of each.
    const rows = [];
    for (const [verdict, number] of sorted) {
      const same = rows.find(([first]) => verdict.tone !== "good" && verdict.reason && !verdict.quotes.length && !first.quotes.length
        && ["label", "reason", "by", "about", "score"].every((name) => JSON.stringify(first[name]) === JSON.stringify(verdict[name]))
        && JSON.stringify([first.votes, first.flags]) === JSON.stringify([verdict.votes, verdict.flags]));
      if (same) same[2].push(verdict);
      else rows.push([verdict, number, []]);
    }
    const good = sorted.filter(([verdict]) => verdict.tone === "good");
    if (good.length <= MOST_GOOD) return el("ol", { class: "points" }, rows.map(items));
    const labels = Array.from(new Set(good.map(([verdict]) => verdict.label)));
    const words = labels.map((label) => label + " (" + good.filter(([verdict]) => verdict.label === label).length + ")").join(", ");
    return el("ol", { class: "points" }, rows.slice(0, rows.length - good.length).map(items),
      el("li", { class: "rest" }, el("details", {}, el("summary", { dir: "auto" }, words), el("ol", { class: "points" }, good.map(items)))));
  };
  // Groups of scoring points are folded, except for those at the top that lost something.
  const treeOf = (data, paper, own, start, rows) => {
    const lists = [el("ol", { class: "points" })];
    for (const [level, row] of rows) {
      lists.length = Math.min(lists.length, level + 1);
      const list = lists[lists.length - 1];
      if (typeof row === "number") {
        if (own[row]) list.append(pointOf(data, paper, own[row], start + row, []));
        continue;
      }
      const inner = el("ol", { class: "points" });
      const facts = row.score + " · weight " + row.weight + " · " + row.hits + " of " + row.count + " hit";
      const node = el("details", {}, el("summary", { dir: "auto" }, el("span", { class: "statement" }, row.statement), " ", el("small", {}, facts)), inner);
      node.open = level === 0 && row.tone !== "good";
      list.append(el("li", { class: "group " + row.tone }, node));
      lists.push(inner);
    }
    return lists[0];
  };
  const insightsOf = (data) => {
    const paper = paperOf(data);
    let first = 0;
    return data.insights.map((insight) => {
      const own = data.verdicts.slice(first, first + insight.count);
      const start = first;
      first += insight.count;
      return el("section", {},
        el("h2", { dir: "auto" }, insight.evaluator, " ", el("small", {}, [insight.about, insight.label, insight.score, ...insight.scores].filter(Boolean).join(" · "))),
        insight.summary ? el("p", { class: "text", dir: "auto" }, insight.summary) : null,
        insight.tree ? treeOf(data, paper, own, start, insight.tree) : pointsOf(data, paper, own, start),
        insight.notes.map((note) => el("p", { class: "remark text", dir: "auto" }, note)));
    });
  };
  // Rounds that a verdict quotes, is about or names, and those where something broke.
  const citedOf = (data) => {
    const named = data.verdicts.flatMap((verdict) => (verdict.mentions || []).concat(verdict.quotes.map((quote) => quote[2])));
    const cited = new Set(named);
    for (const round of data.rounds) {
      const steps = round.steps || [];
      if (round.notes.length || (round.cites || []).length || round.error || steps.some((step) => step.notes.length || step.cites.length)) cited.add(round.n);
    }
    return cited;
  };
  const talkOf = (data) => {
    const cited = citedOf(data);
    const known = data.rounds.filter((round) => cited.has(round.n));
    const shown = [];
    let fold = [];
    const flush = () => {
      const nodes = fold.map((round) => roundOf(data, round));
      const words = fold.length ? "Rounds " + fold[0].n + " to " + fold[fold.length - 1].n + ": " + fold.length + " without a verdict" : "";
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
  const open = (number) => {
    const row = rows[number];
    const data = read(number);
    if (!overview.hidden) {
      scroll = window.scrollY;
      origin = document.activeElement.closest("a");
    }
    last = row;
    document.title = caseOf(row) + " · " + title;
    view.replaceChildren(...headOf(row));
    if (data === null) {
      view.append(el("p", { class: "note" }, "This conversation is left out to limit the size of the page. viva replay shows it."));
    } else {
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
      view.append(...insightsOf(data));
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
  document.addEventListener("DOMContentLoaded", () => {
    // Of one run there is nothing to compare: it is shown at once.
    if (rows.length === 1 && !location.hash) location.replace("#run-0");
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
  show();
})();
