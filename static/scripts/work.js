// Long work that goes on at the server: the strip is asked for again while it runs and the page is seen.
import { find } from "./page.js";

const EVERY = 2000;
let timer = 0;

const strip = () => find("#work");
const running = () => strip()?.hasAttribute("data-running");

// What has ended stays, as a line that leads to its outcome: nothing on the page moves.
const end = () => {
  strip().removeAttribute("data-running");
  for (const row of strip().querySelectorAll(".work-row:not(.ended)")) {
    row.classList.add("ended");
    row.querySelector("progress").remove();
    row.querySelector(".number").textContent = row.href ? "See how it went" : "";
    const label = row.querySelector(".work-label");
    label.textContent += " has ended";
    find("#announce").textContent = label.textContent;
  }
};

const look = async () => {
  clearTimeout(timer);
  if (!strip() || document.hidden) return;
  const answer = await fetch(strip().dataset.url).catch(() => null);
  if (answer?.ok && !answer.redirected) {
    const drawn = document.createRange().createContextualFragment(await answer.text()).firstElementChild;
    if (drawn.hasAttribute("data-running")) strip().replaceWith(drawn);
    else if (running()) end();
  }
  plan();
};

const plan = () => {
  clearTimeout(timer);
  if (running()) timer = setTimeout(look, EVERY);
};

plan();
document.addEventListener("work", look);
document.addEventListener("visibilitychange", look);
