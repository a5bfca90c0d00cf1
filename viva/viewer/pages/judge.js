// What the judge's model was asked and what it answered, each attempt, beside the verdict that it led to.

import { ask, pictureAddress } from "./api.js";
import { counted, here, whole } from "./address.js";
import { chip, el, note } from "./elements.js";

export class Judge {
  constructor(holder, state) {
    this.state = state;
    this.holder = holder;
  }

  async show(data) {
    const { state } = this;
    if (this.version !== data.version) {
      this.found = await ask(`${state.journal}/asked`, { id: state.id });
      this.version = data.version;
    }
    const { requests, note: remark, more } = this.found;
    const chosen = whole(state.query.asked, 0);
    const votes = requests.some((each) => each.vote > 1);
    const piece = (part) => (part.picture ? el("img", { src: pictureAddress(state.journal, part.picture), alt: "picture in the request", loading: "lazy" }) : el("div", { class: "text mono", dir: "auto" }, part.text));
    const message = ({ role, same, parts }) => el("details", { class: "facts message", open: !same && role !== "system" }, el("summary", {}, role, same ? [" · the same as in ", el("a", { href: here(state, { asked: same[0] + 1 }) }, `request ${same[0] + 1}`)] : null),
      (same ? requests[same[0]].messages[same[1]].parts : parts).map(piece));
    const nodes = requests.map((each, place) => {
      const verdict = data.verdicts[each.verdict];
      return el("details", { class: "request", open: chosen ? chosen === place + 1 : requests.length === 1 },
        el("summary", {}, el("a", { href: here(state, { asked: place + 1 }) }, `Request ${place + 1}`), " ", verdict ? chip(verdict.tone, verdict.label) : null, " ",
          el("span", { dir: "auto" }, verdict ? verdict.statement : each.about), el("small", { dir: "auto" }, [" " + each.judge, votes ? `vote ${each.vote}` : "", each.subject, each.error ? "not usable" : ""].filter(Boolean).join(" · "))),
        each.messages.map(message), each.answer ? [el("h4", {}, "The judge answered"), el("div", { class: "text mono answer", dir: "auto" }, each.answer)] : null,
        each.error ? el("div", { class: "fault text", dir: "auto" }, each.answer ? `It is not usable: ${each.error}` : `There is no answer: ${each.error}`) : null,
        note(el("code", {}, each.digest)));
    });
    this.holder.replaceChildren(el("section", { class: "asked-list" }, remark ? el("p", { class: "remark" }, remark) : null,
      note(counted(requests.length, "request") + ", in order.", more ? ` ${more} more are too long to be shown; viva replay has them.` : ""), nodes));
    if (chosen) nodes[chosen - 1]?.scrollIntoView({ block: "start" });
  }
}
