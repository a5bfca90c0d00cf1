// Asks the server. Addresses are relative to that of the page, which holds the token.

import { byId, el } from "./elements.js";

export class Refused extends Error {}
export const live = true; // an export has another module in the place of this one

// What the page asks first is in the page itself.
let given = JSON.parse(byId("start").textContent);

const answered = async (path, options) => {
  const answer = await fetch("api/" + path, options);
  const found = await answer.json();
  if (!answer.ok) throw Object.assign(new Refused(found.error), { gone: answer.status === 410 }); // with its journal
  return found;
};

export const ask = async (path, query = {}) => {
  const asked = `${path}?${new URLSearchParams(Object.entries(query).filter(([, value]) => (value ?? "") !== ""))}`;
  return given[asked] ?? answered(asked);
};

export const send = (path, given) => answered(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(given) });

// Calls `changed` with the state of each journal that changed, from now on.
export const listen = (changed, lost) => {
  given = {}; // it grows old
  const source = new EventSource("api/events");
  source.onmessage = (event) => changed(JSON.parse(event.data));
  source.onerror = () => lost(source.readyState === EventSource.CLOSED);
  return source;
};

// A link to a file that the agent left: a download.
export const fileLink = (journal, id, name, words) =>
  el("a", { href: `${journal}/file?${new URLSearchParams({ id, path: name })}`, download: true }, words);

// A picture of a journal is loaded when it is looked at, and is whole.
export const pictureAddress = (journal, name) => (name.startsWith("data:") ? name : `${journal}/${name}`);
