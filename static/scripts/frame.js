// The frame: a sidebar that hides and stays hidden, and how the pages are painted.
import { find } from "./page.js";

const page = document.documentElement;
const YEAR = 60 * 60 * 24 * 365;

export const isHidden = () => page.dataset.side === "hidden";

// A cookie, so that the server draws the next page as this one is and nothing moves.
export const fold = (hide = !isHidden()) => {
  const within = document.activeElement?.closest("#side, .unfold");
  if (hide) page.dataset.side = "hidden";
  else delete page.dataset.side;
  document.cookie = `sidebar=${hide ? "hidden" : "shown"}; path=/; max-age=${YEAR}; samesite=lax`;
  if (within) find(hide ? ".unfold" : "#side [data-folds]").focus();
};

const paint = (button) => {
  page.dataset.theme = button.value;
  for (const each of document.querySelectorAll("[data-paints]")) {
    each.setAttribute("aria-pressed", String(each === button));
  }
};

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-folds]")) fold();
  const button = event.target.closest("[data-paints]");
  if (button) paint(button);
});
