// Menus close by themselves, the chosen tab is in view, and the list of chats waits while it is worked in.
import { find } from "./page.js";

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    // Arrows through radio buttons click them too: the menu stays while one chooses.
    const chosen = event.target.closest(".menu-item") && !event.target.matches("input");
    if (!menu.contains(event.target) || chosen) menu.open = false;
  }
});

// Cancel in a form that folds out: what was typed goes, and the focus is back where it was.
const fold = (form) => {
  const box = form.closest("details");
  form.reset();
  box.open = false;
  find("summary", box).focus();
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-closes]");
  if (button) fold(button.form);
});

document.addEventListener("keydown", (event) => {
  const form = event.key === "Escape" && event.target.closest("details[open] form:has([data-closes])");
  if (!form) return;
  event.preventDefault();
  fold(form);
});

// Where writing begins: behind a message that is put in other words, over a title that is given anew.
document.addEventListener("focusin", ({ target }) => {
  if (!target.matches(".message.edit textarea, .rename input[name=title]") || target.dataset.begun)
    return;
  target.dataset.begun = "yes";
  if (target.matches("textarea")) target.setSelectionRange(target.value.length, target.value.length);
  else target.select();
});

// A rename that is given up leaves the focus on its chat.
document.addEventListener("htmx:afterSettle", (event) => {
  const { target, requestConfig } = event.detail;
  if (!requestConfig?.elt.matches(".rename a.quiet")) return;
  const row = document.getElementById(target.id);
  if (document.activeElement === document.body) find(".session-link", row ?? document)?.focus();
});

// A reply brings the list anew; while something is done in it, it stays as it is.
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const list = event.detail.target;
  const worked = ".rename, details.menu[open], .pick:checked";
  if (list.id === "chat-list" && find(worked, list)) event.detail.shouldSwap = false;
});

// On a phone the tabs are wider than the page.
find(".tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
