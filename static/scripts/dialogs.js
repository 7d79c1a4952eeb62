// Dialogs open when asked or when something is swapped into them; a form may ask whether it is meant.
// What is swapped in takes the focus where it says so, and what was given up leads it back.
import { find } from "./page.js";

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens).showModal();
  // Only the backdrop is the dialog itself; everything in it lies deeper.
  if (event.target.matches("dialog")) event.target.close();
});

document.addEventListener("submit", (event) => {
  const question = (event.submitter ?? event.target).dataset.confirm ?? event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
}, true);

// A form that came back leads to what is wrong in it.
find("[aria-invalid='true']")?.focus();

document.addEventListener("htmx:afterSwap", (event) => {
  const box = event.detail.target;
  if (box?.matches("dialog") && !box.open) box.showModal();
  if (box) find("[aria-invalid='true'], [autofocus]", event.detail.elt)?.focus();
  const back = event.detail.requestConfig?.elt.dataset.returnsTo;
  if (back) find(back)?.focus();
});
