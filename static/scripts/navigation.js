// Menus close by themselves, the chosen tab is in view, and the list of chats waits while it is worked in.
import { find } from "./page.js";

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    // Arrows through radio buttons click them too: the menu stays while one chooses.
    const chosen = event.target.closest(".menu-item") && !event.target.matches("input");
    if (!menu.contains(event.target) || chosen) menu.open = false;
  }
});

// A reply brings the list anew; while something is done in it, it stays as it is.
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const list = event.detail.target;
  const worked = ".rename, details.menu[open], .pick:checked";
  if (list.id === "chat-list" && find(worked, list)) event.detail.shouldSwap = false;
});

// On a phone the tabs are wider than the page.
find(".tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
