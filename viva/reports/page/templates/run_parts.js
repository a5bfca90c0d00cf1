"use strict";
// Builds the nodes of one run, for the report page and for the viewer. Text goes into text nodes only: nothing an agent
// said becomes markup.
// - view: the element that the run is shown in
// - go: shows a round that a verdict refers to, if it may not be there yet; gets the number of the verdict, the number of
//   the round and the id of the step
const runParts = (view, go) => {
  const MOST_GOOD = 6;
  const SHORT_CHECK = 14;
  const byId = (id) => document.getElementById(id);
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
  const follow = go || jump;
  const pictures = (data, list, what, captions) => {
    if (!list.length) return null;
    return el("div", { class: "pictures" }, list.map((image, place) => {
      const caption = captions[place];
      // What is scaled down or left out here is whole in the journal.
      const whole = (node) => Object.hasOwn(data.full, image)
        ? el("a", { href: data.full[image], target: "_blank", rel: "noopener", title: "The full picture" }, node) : node;
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
        : button(verdict.about[0], () => follow(number, verdict.about[1]), { class: "about", dir: "auto" }),
      others.length && verdict.check ? el("div", { class: "about", dir: "auto" }, [verdict, ...others].map((each) => each.check).join(", ")) : null,
      [verdict, ...others].map((each) => el("div", { class: "statement", dir: "auto" }, each.statement)),
      reasonOf(verdict),
      verdict.quotes.map(([place, quoted, round, id]) => round === null
        ? el("div", { class: "quote", dir: "auto" }, el("span", {}, place), quoted)
        : button([el("span", {}, place), quoted], () => follow(number, round, id), { class: "quote", dir: "auto" })),
      el("div", { class: "by", dir: "auto" }, ["by " + verdict.by].concat(verdict.votes, verdict.flags.map((flag) => "[" + flag + "]")).join(" · "),
        (verdict.mentions || []).map((round) => [" · ", button("round " + round, () => follow(number, round), { class: "link" })])),
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
    const head = el("header", {}, (round.to ? "Rounds " + round.n + " to " + round.to : "Round " + round.n) + (round.facts ? " · " + round.facts : ""));
    const margin = el("aside", { class: "margin", "aria-label": "verdicts on round " + round.n }, round.notes.map((number) => noteOf(data, number)));
    const what = "round " + round.n;
    const talk = el("div", {});
    if (round.left) talk.append(el("p", { class: "note" }, round.to ? "Left out because the conversation is too long; viva replay shows them."
      : "Left out because it is too long; viva replay shows it."));
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
  const insightsOf = (data, paper) => {
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
  return { el, button, light, unfold, jump, pictures, roundOf, insightsOf, citedOf };
};
