// The state of the page is in its address, so that every view can be shared and the browser's buttons work:
// #/JOURNAL/runs?where=…&order=… and #/JOURNAL/run/ID?round=N

// What somebody wrote into the address may be anything.
export const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
export const whole = (text, otherwise) => (/^\d{1,9}$/.test(text) ? Number(text) : otherwise);

export const read = () => {
  const [path, words = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [journal = "", view = "", ...rest] = path.split("/");
  return {
    journal: whole(journal, 0),
    view: view || "runs",
    id: decoded(rest.join("/")),
    query: Object.fromEntries(new URLSearchParams(words)),
  };
};

export const address = ({ journal, view, id = "", query = {} }) => {
  const kept = Object.entries(query).filter(([, value]) => (value ?? "") !== "");
  const words = new URLSearchParams(kept).toString();
  return `#/${journal}/${view}${id ? "/" + encodeURIComponent(id) : ""}${words ? "?" + words : ""}`;
};

export const count = (number) => number.toLocaleString("en");
export const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

// The same state with other values in its query.
export const moved = (state, query) => ({ ...state, query: { ...state.query, ...query } });
export const here = (state, query) => address(moved(state, query));

export const go = (state, { replace = false } = {}) => {
  const found = address(state);
  if (found === location.hash) return;
  if (replace) history.replaceState(null, "", found);
  else location.hash = found;
};
