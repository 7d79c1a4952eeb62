// Short words at the foot of the page, gone after a while or once their button has done its work.
import { find } from "./page.js";

export const toast = (text, kind = "") => {
  const note = document.createElement("div");
  note.className = `toast ${kind}`;
  note.textContent = text;
  find("#toasts").append(note);
};

document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, successful } = event.detail;
  if (successful && elt.matches(".toast")) elt.remove();
});

document.addEventListener("animationend", (event) => {
  if (event.animationName === "toast-out") event.target.remove();
});
