// Asks the server. Addresses are relative to that of the page, which holds the token.

export class Refused extends Error {}
export const live = true; // an export has another module in the place of this one

export const ask = async (path, query = {}) => {
  const words = new URLSearchParams(Object.entries(query).filter(([, value]) => (value ?? "") !== ""));
  const answer = await fetch(`api/${path}?${words}`);
  const found = await answer.json();
  if (!answer.ok) throw new Refused(found.error);
  return found;
};

export const send = async (path, given) => {
  const answer = await fetch(`api/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(given) });
  const found = await answer.json();
  if (!answer.ok) throw new Refused(found.error);
  return found;
};

// Calls `changed` with the state of each journal that changed, from now on.
export const listen = (changed, lost) => {
  const source = new EventSource("api/events");
  source.onmessage = (event) => changed(JSON.parse(event.data));
  source.onerror = () => lost(source.readyState === EventSource.CLOSED);
  return source;
};

// A link to a file that the agent left: a download.
export const fileLink = (parts, journal, id, name, words) =>
  parts.el("a", { href: `${journal}/file?${new URLSearchParams({ id, path: name })}`, download: true }, words);

// A picture of a journal is loaded when it is looked at, and is whole.
export const pictureAddress = (journal, name) => `${journal}/${name}`;
