// Filter expressions as --where takes them: the grammar, the fields and what they mean are those of viva/filters.

const NAME = /[^\W\d][\w-]*/uy;
const KEY = /[^\s()"'=<>!~]+/uy;
const OPERATOR = /<=|>=|!=|=|<|>|~/y;
const QUOTED = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/suy;
const WORD = /[^\s()"']+/uy;
const KEYWORDS = ["and", "or", "not"];
const DEEP = 60;
const LAST_BIT = 1e-9;
const YES_NO = { yes: true, true: true, no: false, false: false };

// Text without regard to case, as Python's str.casefold has it.
export const fold = (text) => text.toUpperCase().toLowerCase().replaceAll("ς", "σ");

const near = (word, names) => {
  const distance = (one, two) => {
    let row = Array.from({ length: two.length + 1 }, (_, place) => place);
    for (let i = 1; i <= one.length; i++) {
      const next = [i];
      for (let j = 1; j <= two.length; j++) next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] === two[j - 1] ? 0 : 1));
      row = next;
    }
    return row[two.length];
  };
  const [best] = names.map((name) => [distance(word, name), name]).sort((a, b) => a[0] - b[0]);
  return best && best[0] <= Math.ceil(word.length * 0.4) ? best[1] : null;
};

const numberOf = (text) => {
  const plain = text.trim();
  const number = /^[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+)?$/i.test(plain) ? Number(plain.replaceAll("_", "")) : NaN;
  if (!Number.isFinite(number)) throw new Error("is not a number");
  return number;
};
const secondsOf = (text) => {
  const found = /^(?:([\d.]+)h)?(?:([\d.]+)m(?:in)?)?(?:([\d.]+)s)?$/.exec(text.trim().toLowerCase());
  try {
    if (found && text.trim()) return [3600, 60, 1].reduce((sum, unit, place) => sum + (found[place + 1] ? numberOf(found[place + 1]) * unit : 0), 0);
    const seconds = numberOf(text);
    if (seconds >= 0) return seconds;
  } catch { /* it is none */ }
  throw new Error("is not a duration; write seconds (90), or 90s, 5m or 1h");
};
const momentOf = (text) => {
  const day = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  // A date alone is local time, as a time without an offset is.
  const found = day ? new Date(Number(day[1]), Number(day[2]) - 1, Number(day[3])) : new Date(/^\d{4}-\d\d-\d\d[T ]/.test(text) ? text.replace(" ", "T") : NaN);
  if (Number.isNaN(found.getTime())) throw new Error("is neither a date nor a time; write 2026-11-23, or 2026-11-23T10:30");
  return found.getTime() / 1000;
};
const valueOf = (field, sign, text) => {
  switch (field.kind) {
    case "NUMBER": return numberOf(field.name === "cost" ? text.replace(/^\$/, "") : text);
    case "SECONDS": return secondsOf(text);
    case "MOMENT": return momentOf(text);
    case "YES_NO":
      if (!Object.hasOwn(YES_NO, text.toLowerCase())) throw new Error("is neither yes nor no");
      return YES_NO[text.toLowerCase()];
    case "CHOICE": {
      if (field.values.includes(text)) return text;
      const meant = near(text.toLowerCase(), field.values);
      throw new Error(`is no ${field.name}; there are ${field.values.join(", ")}${meant ? `; did you mean ${meant}?` : ""}`);
    }
    case "ANY": return ["=", "!=", "~"].includes(sign) ? text : numberOf(text);
    default: return text;
  }
};

const texts = (value) => (value === null || typeof value === "boolean" ? [] : typeof value === "number" ? [String(Number(value.toPrecision(6)))] : typeof value === "string" ? [value] : value);
const equals = (field, text) => {
  if (text === null) return (value) => value === null || (Array.isArray(value) && !value.length);
  if (field.kind === "ANY") {
    let number = null;
    try { number = numberOf(text); } catch { /* it is text */ }
    return (value) => (typeof value === "boolean" ? YES_NO[text.toLowerCase()] === value
      : typeof value === "number" ? number !== null && Math.abs(value - number) <= LAST_BIT : texts(value).includes(text));
  }
  const wanted = valueOf(field, "=", text);
  if (typeof wanted === "number") return (value) => typeof value === "number" && Math.abs(value - wanted) <= LAST_BIT;
  return (value) => (Array.isArray(value) ? value.includes(wanted) : value === wanted);
};
const ORDER = { "<": (a, b) => a < b - LAST_BIT, "<=": (a, b) => a <= b + LAST_BIT, ">": (a, b) => a > b + LAST_BIT, ">=": (a, b) => a >= b - LAST_BIT };
const testOf = (field, sign, text) => {
  if (sign === "=") return equals(field, text);
  if (sign === "!=") { const same = equals(field, text); return (value) => !same(value); }
  const wanted = valueOf(field, sign, text);
  if (sign === "~") { const part = fold(String(wanted)); return (value) => texts(value).some((each) => fold(each).includes(part)); }
  return (value) => typeof value === "number" && ORDER[sign](value, wanted);
};

// Returns `matches(get)`, which tells of a run whether it is kept: `get(field)` gives its value.
export const filterOf = (text, table, Failure) => {
  const fields = new Map(table.map((field) => [field.name, field]));
  const shown = (field) => (field.keyed ? `${field.name}.${field.keyed}` : field.name);
  let at = 0;
  let depth = 0;
  let needsVerdicts = false;
  const fail = (words, place = at) => {
    const line = (part) => part.replace(/\s/g, " ");
    const before = line(text.slice(Math.max(0, place - 60), place));
    throw new Failure(`the filter, column ${place + 1}: ${words}\n  ${before}${line(text.slice(place, place + 30))}\n  ${" ".repeat(before.length)}^`);
  };
  const match = (pattern) => { pattern.lastIndex = at; return pattern.exec(text)?.[0]; };
  const skip = () => { while (/\s/.test(text[at] || "")) at++; };
  const done = () => at >= text.length;
  const takes = (word) => {
    const end = at + word.length;
    if (text.slice(at, end).toLowerCase() !== word || /^[\w.=<>!~-]/u.test(text.slice(end, end + 1))) return false;
    at = end;
    skip();
    return true;
  };
  const sign = (wanted) => { if (text[at] !== wanted) return false; at++; skip(); return true; };
  const otherLanguage = () => { const word = { "&": "and", "|": "or", "!": "not" }[text[at]]; if (word) fail(`write '${word}' instead of ${text[at]}`); };
  const quoted = () => {
    if (text[at] !== "'" && text[at] !== '"') return null;
    const found = match(QUOTED);
    if (found === undefined) fail("this quote is not closed");
    at += found.length;
    return found.slice(1, -1).replace(/\\(.)/gsu, "$1");
  };
  const value = (field, operator) => {
    const begin = at;
    let found = quoted();
    if (found === null) {
      found = match(WORD);
      if (found === undefined || KEYWORDS.includes(found.toLowerCase())) fail(`a value is missing after ${operator}`);
      if (/^(?:[<>=~!])/.test(found)) fail(`a value is missing after ${operator}; write the operator once, and a value that begins like this in quotes`);
      at += found.length;
      if (text[at] === "'" || text[at] === '"') fail("this quote is within a value; put the whole value in quotes");
      if (found.toLowerCase() === "none") {
        if (operator !== "=" && operator !== "!=") fail("none can only be compared by = and !=", begin);
        return null;
      }
    }
    try { valueOf(field, operator, found); } catch (error) { fail(`'${found.slice(0, 60)}' ${error.message}`, begin); }
    return found;
  };
  const comparison = () => {
    const name = match(NAME);
    if (name === undefined || KEYWORDS.includes(name.toLowerCase())) { otherLanguage(); fail("a field is missing here, such as score"); }
    const field = fields.get(name);
    if (!field) {
      const meant = near(name.toLowerCase(), Array.from(fields.keys()));
      fail(`there is no field '${name.slice(0, 40)}'; ${meant ? `did you mean ${shown(fields.get(meant))}?` : `the fields are ${table.map(shown).join(", ")}`}`);
    }
    at += name.length;
    needsVerdicts ||= field.verdicts;
    let key = null;
    if (!field.keyed && text[at] === ".") fail(`nothing can follow ${field.name} and a dot`);
    if (field.keyed) {
      if (text[at] !== ".") fail(`${field.name} requires a dot and a name: ${shown(field)}`);
      at++;
      key = quoted();
      if (key === null) {
        key = match(KEY);
        if (key === undefined) fail(`a name is missing here: ${shown(field)}`);
        at += key.length;
      }
    }
    skip();
    let operator = match(OPERATOR);
    let given = "yes";
    if (operator === undefined) {
      const word = match(WORD);
      const next = word !== undefined && !KEYWORDS.includes(word.toLowerCase());
      if (field.kind !== "YES_NO" || next) fail(text[at] === ":" ? `write = between ${shown(field)} and its value` : `an operator is missing after ${shown(field)}: ${field.operators.join(", ")}`);
      operator = "=";
    } else {
      if (!field.operators.includes(operator)) fail(`${field.name} is ${field.words}, which has no ${operator}; use ${field.operators.join(", ")}`);
      at += operator.length;
      skip();
      given = value(field, operator);
      skip();
    }
    const test = testOf(field, operator, given);
    return (get) => { const found = get(field); return test(key === null ? found : found?.get(key) ?? null); };
  };
  const term = () => {
    const begin = at;
    if (++depth > DEEP) fail(`parentheses and 'not' are nested more than ${DEEP} deep`);
    let found;
    if (takes("not")) { const part = term(); found = (get) => !part(get); }
    else if (sign("(")) {
      found = disjunction();
      if (!sign(")")) { if (done()) fail("this parenthesis is not closed", begin); fail("'and', 'or' or ) is missing here"); }
    } else found = comparison();
    depth--;
    return found;
  };
  const joined = (word, inner, all) => {
    const several = [inner()];
    while (takes(word)) several.push(inner());
    return several.length === 1 ? several[0] : (get) => (all ? several.every((part) => part(get)) : several.some((part) => part(get)));
  };
  const conjunction = () => joined("and", term, true);
  const disjunction = () => joined("or", conjunction, false);
  skip();
  const matches = disjunction();
  if (!done()) {
    if (text[at] === ")") fail("this parenthesis closes none");
    otherLanguage();
    fail("'and' or 'or' is missing here; a value with spaces or parentheses requires quotes");
  }
  return { matches, needsVerdicts };
};
