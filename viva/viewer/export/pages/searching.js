// Looks for words in stored rounds, as the viewer's server does in a journal.

import { fold } from "./filters.js";

const AROUND = 70; // characters before and after the words
const oneLine = (text) => text.trim().replace(/\s+/g, " ");
export const said = (pieces) => (pieces || []).map((piece) => (typeof piece === "string" ? piece : piece[0])).join("");

const textsOf = function* (round) {
  yield ["examiner", said(round.examiner)];
  yield ["agent", said(round.agent)];
  for (const step of round.steps) for (const [, pieces] of step.texts) yield [step.kind === "tool" ? step.title : step.kind, said(pieces)];
  if (round.error) yield ["error", round.error];
};

// The first place of folded words in a round: its number, who said them, and the words with those around them.
export const hitIn = (round, wanted) => {
  for (const [who, text] of round.left ? [] : textsOf(round)) {
    // Folding may change the number of characters, so the place is exact only where it does not.
    const place = fold(text).indexOf(wanted);
    if (place < 0) continue;
    const end = place + wanted.length;
    const before = text.slice(Math.max(0, place - AROUND), place);
    const after = text.slice(end, end + AROUND);
    return [round.n, who, (place > AROUND ? "…" : "") + oneLine(before) + (/\s$/.test(before) ? " " : ""), oneLine(text.slice(place, end)), (/^\s/.test(after) ? " " : "") + oneLine(after)];
  }
  return null;
};
