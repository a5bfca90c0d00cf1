// Answers the page's questions from the parts beside the page: an export has no server. The parts are scripts, because a
// page that was opened as a file may load nothing else.

import { button, el } from "./elements.js";
import { filterOf, fold } from "./filters.js";
import { compare, gridBy } from "./grids.js";
import { hitIn, said } from "./searching.js";

export class Refused extends Error {}
export const live = false;

const NONCE = document.currentScript.nonce;
const KEPT = 16; // parts of conversations in memory at most
const parts = new Map();
const arrived = new Map();
const load = (name) => new Promise((resolve, reject) => {
  const node = document.createElement("script");
  node.nonce = NONCE;
  node.src = `data/${name}.js`;
  node.onload = () => { resolve(arrived.get(name)); arrived.delete(name); node.remove(); };
  node.onerror = () => { node.remove(); reject(new Refused(`data/${name}.js is missing. Unpack the whole export, and open its index.html.`)); };
  document.head.append(node);
});
window.vivaPart = (name, entries, goesOn) => arrived.set(name, { entries, goesOn });
window.vivaStart = (given) => arrived.set("start", given);

const part = (name) => {
  const found = parts.get(name) || load(name);
  parts.delete(name);
  parts.set(name, found); // the one that was used last comes last
  found.catch(() => parts.delete(name));
  if (parts.size > KEPT) parts.delete(parts.keys().next().value);
  return found;
};
// The text of an entry, which may go on in the parts that follow.
const text = async (kind, [number, place]) => {
  let { entries, goesOn } = await part(`${kind}-${number}`);
  const pieces = [entries[place]];
  while (goesOn && place === entries.length - 1) {
    place = 0;
    ({ entries, goesOn } = await part(`${kind}-${++number}`));
    pieces.push(entries[0]);
  }
  return pieces.join("");
};
const entry = async (kind, place) => JSON.parse(await text(kind, place));
const once = (make) => {
  const known = new Map();
  return (...key) => {
    const name = key.join(" ");
    if (!known.has(name)) known.set(name, make(...key));
    return known.get(name);
  };
};

const start = once(() => load("start"));
const fact = once(async (name) => entry("facts", (await start())[name]));
const journalOf = async (number) => {
  const found = (await fact("journals"))[number];
  if (!found) throw new Refused(`there is no journal ${number}`);
  return found;
};

// ---- runs

// Columns as `get(name, place)`; texts are stored once.
const table = ({ count, texts, textual, columns }) => {
  const coded = (value) => (value === null || typeof value !== "object" ? value : Array.isArray(value) ? value.map(coded)
    : "t" in value ? texts[value.t] : new Map(value.d.map(([key, each]) => [texts[key], coded(each)])));
  const ofTexts = new Set(textual);
  const get = (name, place) => {
    const values = columns[name];
    if (!values) return null;
    if (ofTexts.has(name)) return values[place] < 0 ? null : texts[values[place]];
    return coded(values[place]);
  };
  return { count, get, names: Object.keys(columns) };
};
const tableAt = once(async (journal, kind, number) => {
  const place = (await journalOf(journal)).rows[number];
  return table(await entry((kind === "verdicts" ? "verdicts" : "list") + journal, place[kind]));
});
const rowAt = async (journal, place) => {
  let first = 0;
  for (const [number, { count }] of (await journalOf(journal)).rows.entries()) {
    if (place < first + count) {
      const found = await tableAt(journal, "rows", number);
      return Object.fromEntries(found.names.map((name) => [name, found.get(name, place - first)]).filter(([, value]) => value !== null).concat(
        [["score", found.get("score", place - first)]]));
    }
    first += count;
  }
  return null;
};
const idsOf = once(async (journal) => {
  const found = new Map();
  let first = 0;
  for (const [number, { count }] of (await journalOf(journal)).rows.entries()) {
    const rows = await tableAt(journal, "rows", number);
    for (let place = 0; place < count; place++) found.set(rows.get("id", place), first + place);
    first += count;
  }
  return found;
});
// The places of the runs that a filter keeps, in the order in which they began.
const matching = async (journal, where) => {
  const { rows } = await journalOf(journal);
  const filter = where.trim() ? filterOf(where, await fact("fields"), Refused) : null;
  const found = [];
  let first = 0;
  for (const [number, { count }] of rows.entries()) {
    const facts = filter && await tableAt(journal, "facts", number);
    const verdicts = filter && filter.needsVerdicts ? await tableAt(journal, "verdicts", number) : null;
    for (let place = 0; place < count; place++) {
      if (!filter || filter.matches((field) => (field.verdicts ? verdicts : facts).get(field.name, place))) found.push(first + place);
    }
    first += count;
  }
  return found;
};
const KEYS = {
  case: (row) => [row.case, row.agent, row.trial], score: (row) => [row.score ?? -1], rounds: (row) => [row.rounds], seconds: (row) => [row.seconds ?? 0],
  cost: (row) => [row.cost ?? -1], tokens: (row) => [row.tokens ?? -1],
};
const runs = async (journal, { where = "", order = "", first = 0, most = 500 }) => {
  const found = await matching(journal, where);
  const key = KEYS[order.replace(/^-/, "")];
  if (key) {
    const keys = new Map();
    for (const place of found) keys.set(place, key(await rowAt(journal, place)));
    const sign = order.startsWith("-") ? -1 : 1;
    found.sort((one, two) => sign * compare(keys.get(one), keys.get(two)) || one - two);
  }
  const shown = found.slice(first, first + most);
  const among = (await journalOf(journal)).rows.reduce((sum, each) => sum + each.count, 0);
  return { total: found.length, among, first, rows: await Promise.all(shown.map((place) => rowAt(journal, place))), version: 1 };
};
const grid = async (journal, { where = "", by = "", with: others = "" }) => {
  const made = gridBy((by || "agent").split(",").filter(Boolean), Refused);
  const numbers = new Set([journal, ...others.split(",").filter(Boolean)].map(Number));
  for (const number of Array.from(numbers).sort((one, two) => one - two)) {
    const { name } = await journalOf(number);
    for (const place of await matching(number, where)) made.add(await rowAt(number, place), number, name);
  }
  return made.found(numbers.size);
};

// ---- one run

const headsKept = new Map();
const head = async (journal, id) => {
  const key = `${journal} ${id}`;
  let found = headsKept.get(key);
  if (!found) {
    const place = (await idsOf(journal)).get(id);
    if (place === undefined) throw new Refused(`there is no run ${id}`);
    found = await entry("talk" + journal, (await rowAt(journal, place)).at);
    if (headsKept.size > 8) headsKept.delete(headsKept.keys().next().value);
    headsKept.set(key, found);
  }
  return found;
};
// Pictures are numbered within what was stored together.
const moved = (round, by) => {
  const shift = (images) => images.map((image) => (typeof image === "number" ? image + by : image));
  return by && !round.left ? { ...round, images: shift(round.images), steps: round.steps.map((step) => ({ ...step, images: shift(step.images) })) } : round;
};
const chunk = async (journal, found, number) => (number === 0 ? { rounds: found.rounds, images: [] } : entry("talk" + journal, found.chunks[number - 1]));
const run = async (journal, { id, first = 0, most = 200 }) => {
  const found = await head(journal, id);
  const size = (await start()).chunk;
  first = Number(first);
  const last = Math.min(found.count, first + Number(most));
  const images = found.images.slice();
  const rounds = [];
  for (let number = Math.floor(first / size); number * size < last; number++) {
    const own = await chunk(journal, found, number);
    const by = number === 0 ? 0 : images.length;
    images.push(...own.images);
    rounds.push(...own.rounds.slice(Math.max(0, first - number * size), last - number * size).map((round) => moved(round, by)));
  }
  return { ...found, rounds, images, first };
};
const position = async (journal, { id, number }) => {
  const { numbers } = await head(journal, id);
  let before = 0;
  for (const [first, count] of numbers) {
    if (number < first) return before;
    if (number < first + count) return before + number - first;
    before += count;
  }
  return before;
};
const find = async (journal, { id, words }) => {
  const found = await head(journal, id);
  const wanted = fold(words);
  const numbers = [];
  for (let number = 0; number <= found.chunks.length; number++) {
    for (const round of (await chunk(journal, found, number)).rounds) {
      if (round.left || !fold(said(round.examiner) + "\n" + said(round.agent)).includes(wanted)) continue;
      numbers.push(round.n);
      if (numbers.length === 200) return { numbers, more: true };
    }
  }
  return { numbers, more: false };
};

// Answers for some of the runs, and where to go on: the page shows what was found so far.
const search = async (journal, { where = "", words = "", first = 0 }) => {
  const places = await matching(journal, where);
  const wanted = fold(words);
  const began = Date.now();
  const found = [];
  let at = Number(first);
  for (; wanted && at < places.length && found.length < 50 && Date.now() < began + 400; at++) {
    const row = await rowAt(journal, places[at]);
    const talk = await entry("talk" + journal, row.at);
    const hits = [];
    for (let number = 0; number <= talk.chunks.length && hits.length < 6; number++) {
      for (const round of (await chunk(journal, talk, number)).rounds) {
        const hit = hits.length < 6 && hitIn(round, wanted);
        if (hit) hits.push(hit);
      }
    }
    if (hits.length) found.push({ row, hits: hits.slice(0, 5), more: hits.length > 5 });
  }
  return { found, next: wanted && at < places.length ? at : null, searched: at, total: places.length };
};

const OF_JOURNAL = { runs, grid, run, position, find, search };
const OF_ALL = ["history", "trend"]; // of all journals together
const wordsOf = (query) => Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null)
  .map(([name, value]) => `${name}=${value}`).sort().join("&");
const stored = async (path, query) => {
  const place = (await fact("answers"))[`${path}?${wordsOf(query)}`];
  return place ? entry("facts", place) : undefined;
};

export const ask = async (path, query = {}) => {
  if (path === "journals") return fact("journals");
  const [number, name] = path.split("/");
  await journalOf(number);
  if (Object.hasOwn(OF_JOURNAL, name)) return structuredClone(await OF_JOURNAL[name](number, query));
  const found = await stored(OF_ALL.includes(name) ? name : path, query);
  if (found !== undefined) return found;
  if (query.id) {
    const { answers } = await head(number, query.id);
    const key = `${name}?${wordsOf({ ...query, id: "" })}`;
    if (Object.hasOwn(answers, key)) return entry("talk" + number, answers[key]);
  }
  throw new Refused("This is not in the export; viva view shows it from the journal.");
};

export const send = async () => { throw new Refused("This is an export, which cannot be changed; open the journal with viva view."); };

export const listen = () => null;

// A file that the agent left: saved by its name, as bytes that no browser runs.
export const fileLink = (journal, id, name, words) => {
  const save = async () => {
    const place = (await head(journal, id)).stored[name];
    if (!place) { node.replaceWith(el("span", {}, words, el("small", {}, place === null ? ", too large for the export" : ", not in the export"))); return; }
    const content = Uint8Array.from(atob(await text("talk" + journal, place)), (sign) => sign.charCodeAt(0));
    const link = el("a", { href: URL.createObjectURL(new Blob([content], { type: "application/octet-stream" })), download: name.split("/").pop() });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const node = button(words, save, { class: "link" });
  return node;
};
export const pictureAddress = (journal, name) => name;
