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

// A reply brings the list anew; while something is done in it, it stays as it is.
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const list = event.detail.target;
  const worked = ".rename, details.menu[open], .pick:checked";
  if (list.id === "chat-list" && find(worked, list)) event.detail.shouldSwap = false;
});

// On a phone the tabs are wider than the page.
find(".tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
