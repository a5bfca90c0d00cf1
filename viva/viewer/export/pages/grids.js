// Cases by columns that are made of one or several facts of the runs, as the viewer's server makes them.

const FACETS = ["agent", "version", "persona", "strategy", "examiner", "judge"]; // the order of each row's facets
const MOST_COLUMNS = 200;
const MOST_CELLS = 20000;

export const compare = (one, two) => {
  for (const [place, value] of one.entries()) {
    if (value < two[place]) return -1;
    if (value > two[place]) return 1;
  }
  return one.length - two.length;
};
// `task 2` comes before `task 10`.
const natural = (text) => text.split(/([0-9]{1,18})/).map((part, place) => (place % 2 ? Number(part) : part));
const byNames = (one, two) => one.reduce((sign, each, place) => sign || compare(natural(each), natural(two[place])), 0);
const inOrder = (one, two) => compare([one[4], one[0], one[3]], [two[4], two[0], two[3]]);

// Collects rows that are added one after the other. `Refused` is the error for facts that do not exist.
export const gridBy = (names, Refused) => {
  const known = [...FACETS, "journal"];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Refused(`there are no columns by '${unknown}'; there are ${known.join(", ")}`);
  const values = new Map(FACETS.map((name) => [name, new Set()]));
  const columns = new Map();
  const cases = new Map();
  let leftOut = 0;
  const add = (row, number, journal) => {
    const facts = { journal };
    for (const [place, name] of FACETS.entries()) {
      facts[name] = row.facets[place];
      // A run without a record has only some of the facts.
      if (row.standing !== "running" && values.get(name).size < MOST_COLUMNS) values.get(name).add(facts[name]);
    }
    const of = names.map((name) => facts[name]);
    const key = JSON.stringify(of);
    if (!columns.has(key)) {
      if (columns.size === MOST_COLUMNS) { leftOut++; return; }
      columns.set(key, { of, place: columns.size });
    }
    if (!cases.has(row.case)) cases.set(row.case, []);
    (cases.get(row.case)[columns.get(key).place] ||= []).push([row.trial, row.standing, row.score, row.id, number]);
  };
  const found = (journals) => {
    const order = Array.from(columns.values());
    if (names.length > 1) order.sort((one, two) => byNames(one.of, two.of));
    const most = Math.max(1, Math.floor(MOST_CELLS / Math.max(1, columns.size)));
    const varied = Object.fromEntries(Array.from(values, ([name, each]) => [name, each.size]).filter(([name, size]) => size > 1 || name === "agent"));
    return {
      agents: order.map(({ of }) => of.map((value) => value || "none").join(" · ")),
      rows: Array.from(cases).slice(0, most).map(([name, cells]) => ({ case: name, cells: order.map(({ place }) => (cells[place] || []).sort(inOrder)) })),
      cases: cases.size, varied: journals > 1 ? { ...varied, journal: journals } : varied, left_out: leftOut,
    };
  };
  return { add, found };
};
