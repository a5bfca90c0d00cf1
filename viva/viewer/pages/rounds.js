// The rounds of a conversation of any length, in chunks.

import { ask } from "./api.js";

const GUESS = 140; // pixels of an unseen round
const KEPT = 24; // chunks in the page at most

export class Rounds {
  static CHUNK = 50;

  constructor(holder, state, parts, adapt) {
    this.holder = holder;
    this.state = state;
    this.parts = parts;
    this.adapt = adapt;
    this.chunks = [];
    this.count = 0;
    this.used = [];
    this.near = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) this.fill(entry.target.chunk);
    }, { rootMargin: "1200px 0px" });
  }

  // The position of the first round on the screen.
  nearest() {
    const found = this.chunks.find((node) => node.getBoundingClientRect().bottom > 0);
    return found ? found.chunk * Rounds.CHUNK : 0;
  }

  update(data) {
    const grown = data.count !== this.count;
    const last = Math.floor(Math.max(0, this.count - 1) / Rounds.CHUNK);
    this.count = data.count;
    const needed = Math.ceil(data.count / Rounds.CHUNK);
    while (this.chunks.length > needed) this.chunks.pop().remove();
    while (this.chunks.length < needed) {
      const node = document.createElement("div");
      node.className = "chunk";
      node.chunk = this.chunks.length;
      node.style.minHeight = Math.min(Rounds.CHUNK, data.count - node.chunk * Rounds.CHUNK) * GUESS + "px";
      this.chunks.push(node);
      this.holder.append(node);
      this.near.observe(node);
    }
    const own = Math.floor(data.first / Rounds.CHUNK);
    if (this.chunks[own]) this.put(own, data);
    if (grown && last !== own && this.chunks[last]?.filled) this.fill(last, true);
  }

  async fill(number, again = false) {
    const node = this.chunks[number];
    if (!node || node.loading || (node.filled && !again)) return node?.loading;
    const first = number * Rounds.CHUNK;
    node.loading = ask(`${this.state.journal}/run`, { id: this.state.id, first, most: Rounds.CHUNK })
      .then((data) => this.put(number, this.adapt(data)))
      .finally(() => { node.loading = null; });
    return node.loading;
  }

  put(number, data) {
    const node = this.chunks[number];
    const known = node.numbers || [];
    const same = known.every((each, place) => data.rounds[place] && data.rounds[place].n === each) && data.row.standing === node.standing;
    if (node.filled && same) {
      for (const round of data.rounds.slice(known.length)) node.append(this.parts.roundOf(data, round));
    } else {
      node.replaceChildren(...data.rounds.map((round) => this.parts.roundOf(data, round)));
    }
    node.numbers = data.rounds.map((round) => round.n);
    node.standing = data.row.standing;
    node.filled = true;
    node.style.minHeight = "";
    this.used = [...this.used.filter((each) => each !== number), number];
    while (this.used.length > KEPT) this.empty(this.used.shift());
  }

  empty(number) {
    const node = this.chunks[number];
    if (!node?.filled) return;
    node.style.minHeight = node.getBoundingClientRect().height + "px";
    node.replaceChildren();
    node.filled = false;
    node.numbers = [];
    this.near.unobserve(node);
    this.near.observe(node); // tells again
  }

  // Shows the round at a position.
  async show(position) {
    const place = Math.max(0, Math.min(position, this.count - 1));
    const number = Math.floor(place / Rounds.CHUNK);
    const node = this.chunks[number];
    if (!node) return;
    node.scrollIntoView({ block: "start" });
    await this.fill(number);
    node.children[place - number * Rounds.CHUNK]?.scrollIntoView({ block: "start" });
  }
}
