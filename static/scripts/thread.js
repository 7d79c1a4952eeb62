// The thread: it is laid out from its end, so 0 is the newest message.
import { find } from "./page.js";

const atEnd = () => Math.abs(find("#thread")?.scrollTop ?? 0) < 40;

export const toEnd = () => {
  if (find("#thread")) find("#thread").scrollTop = 0;
};

document.addEventListener("scroll", (event) => {
  if (event.target.id === "thread") find(".to-latest").hidden = atEnd();
}, { capture: true, passive: true });

document.addEventListener("click", (event) => {
  if (!event.target.closest(".to-latest")) return;
  event.preventDefault();
  toEnd();
});

// Finished blocks announce themselves; the last one was the tail until now.
document.addEventListener("htmx:sseBeforeMessage", (event) => {
  if (event.detail.type !== "done") return;
  find("#announce").textContent = find(".live .tail")?.textContent || "Reply finished";
});

// A tool round redraws the reply and its end replaces it: folds stay as they were, and so do chips that were used.
let kept = null;

document.addEventListener("htmx:sseBeforeMessage", (event) => {
  const reply = event.target.closest(".reply.live");
  if (!reply || !["start", "done"].includes(event.detail.type)) return;
  kept = {
    id: reply.id,
    folds: [...reply.querySelectorAll(".fold")].map((fold) => fold.open),
    chips: [...reply.querySelectorAll("[data-undone]")],
  };
});

document.addEventListener("htmx:load", (event) => {
  const reply = kept && document.getElementById(kept.id);
  if (!reply?.contains(event.target)) return;
  reply.querySelectorAll(".fold").forEach((fold, at) => (fold.open ||= Boolean(kept.folds[at])));
  for (const chip of kept.chips) {
    const drawn = document.getElementById(chip.id);
    if (drawn !== chip) drawn?.replaceWith(chip);
  }
  kept = null;
});

// Turning to another version replaces the thread: the reader stays at its button.
document.addEventListener("htmx:afterSwap", (event) => {
  const pressed = event.detail.requestConfig?.elt;
  const row = document.getElementById(pressed?.dataset.turnsTo ?? "");
  if (!row) return;
  const same = find(`[aria-label="${pressed.ariaLabel}"]:enabled`, row);
  const button = same ?? find("button:enabled", row);
  button?.focus({ preventScroll: true });
  button?.scrollIntoView({ block: "center" });
});
