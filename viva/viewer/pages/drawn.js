// Views and parts that are drawn again as a whole.

import { el } from "./elements.js";

// Puts new nodes into a holder: the focus stays at its place, and a field in which somebody types is left alone until then.
export const renew = (holder, ...nodes) => {
  const all = () => Array.from(holder.querySelectorAll("a, button, summary, h1, input, select"));
  const here = document.activeElement;
  const place = all().indexOf(here);
  if (place >= 0 && here.matches("[type=search], select")) here.onblur = () => setTimeout(() => holder.replaceChildren(...nodes), 200);
  else {
    holder.replaceChildren(...nodes);
    all()[place]?.focus({ preventScroll: true });
  }
};

// What is said of journals that cannot be read.
export const absent = (found) => (found.absent || []).map((words) => el("p", { class: "remark", dir: "auto" }, words));

export class Drawn {
  static PAUSE = 500; // milliseconds between two drawings of a suite in progress

  constructor(main, state) {
    this.state = state;
    this.holder = el("div", {});
    main.append(this.holder);
    this.ready = this.refresh();
  }

  changed() {
    this.timer ||= setTimeout(() => {
      this.timer = 0;
      if (this.holder.isConnected) return this.refresh();
    }, this.constructor.PAUSE);
  }
}
