// Pictures open whole over the page: arrow keys turn to the others of the same message, Escape or a click beside
// the picture closes. With a modifier key, or without scripts, the link leads to the picture itself.
import { find } from "./page.js";

let links = [];
let at = 0;

const viewer = () => find("#viewer");

const show = (number) => {
  at = (number + links.length) % links.length;
  const { href, dataset: { picture: name } } = links[at];
  const image = find("img", viewer());
  image.src = href;
  image.alt = name;
  find("h2", viewer()).textContent = name;
  find("a", viewer()).href = href;
  find(".viewer-place", viewer()).textContent = links.length > 1 ? `${at + 1} of ${links.length}` : "";
  for (const button of viewer().querySelectorAll("[data-turn]")) button.hidden = links.length < 2;
};

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-picture]");
  const turn = event.target.closest("#viewer [data-turn]");
  if (turn) show(at + Number(turn.dataset.turn));
  // The dialog is as large as the window: beside the picture is what lies around it.
  if (event.target.matches("#viewer .viewer-stage")) viewer().close();
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  links = [...link.closest("ul").querySelectorAll("a[data-picture]")];
  show(links.indexOf(link));
  viewer().showModal();
});

document.addEventListener("keydown", (event) => {
  const by = { ArrowRight: 1, ArrowLeft: -1 } [event.key];
  if (!by || !viewer()?.open || links.length < 2) return;
  event.preventDefault();
  show(at + by);
});

// Nothing of a picture stays behind a closed viewer, and the focus is where it was.
document.addEventListener("close", (event) => {
  if (event.target.id !== "viewer") return;
  find("img", viewer()).removeAttribute("src");
  links[at]?.focus();
}, true);
