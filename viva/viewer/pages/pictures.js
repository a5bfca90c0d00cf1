// A picture in full size on a click; the arrow keys lead through all pictures of the run.

import { button, el } from "./elements.js";

export const enlarge = (event) => {
  const image = event.target.closest?.("main .pictures img, main .message img");
  if (!image || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const all = Array.from(document.querySelectorAll("main .pictures img, main .message img"));
  let place = all.indexOf(image);
  const shown = el("img", {});
  const words = el("p", { class: "note", role: "status" });
  const dialog = el("dialog", { class: "lightbox", "aria-label": "picture" });
  const show = (way) => {
    place = (place + way + all.length) % all.length;
    shown.src = all[place].src;
    shown.alt = all[place].alt;
    words.textContent = `${all[place].alt} · ${place + 1} of ${all.length}`;
  };
  dialog.append(el("div", { class: "sub" }, button("←", () => show(-1), { "aria-label": "previous" }), button("→", () => show(1), { "aria-label": "next" }), words, button("Close", () => dialog.close())), shown);
  dialog.addEventListener("keydown", (key) => { if (key.key === "ArrowLeft") show(-1); if (key.key === "ArrowRight") show(1); });
  dialog.addEventListener("close", () => { dialog.remove(); all[place].closest("a, button")?.focus(); });
  document.body.append(dialog);
  show(0);
  dialog.showModal();
};
