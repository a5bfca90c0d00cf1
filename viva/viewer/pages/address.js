// The state of the page is in its address, so that every view can be shared and the browser's buttons work:
// #/JOURNAL/runs?where=…&order=… and #/JOURNAL/run/ID?round=N

export const read = () => {
  const [path, words = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [journal = "", view = "", ...rest] = path.split("/");
  return {
    journal: /^\d{1,4}$/.test(journal) ? Number(journal) : 0,
    view: view || "runs",
    id: decodeURIComponent(rest.join("/")),
    query: Object.fromEntries(new URLSearchParams(words)),
  };
};

export const address = ({ journal, view, id = "", query = {} }) => {
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const words = new URLSearchParams(kept).toString();
  return `#/${journal}/${view}${id ? "/" + encodeURIComponent(id) : ""}${words ? "?" + words : ""}`;
};

export const go = (state, { replace = false } = {}) => {
  const found = address(state);
  if (found === location.hash) return;
  if (replace) history.replaceState(null, "", found);
  else location.hash = found;
};
