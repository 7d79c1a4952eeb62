// Keys: single letters while nobody types, Ctrl K anywhere, and Escape for whatever is open.
import { find } from "./page.js";

const TYPING = [
  "input:not([type=radio], [type=checkbox])", "textarea", "select", "[contenteditable]", "dialog[open]",
].join();

const step = (by) => {
  const links = [...document.querySelectorAll("#sidebar .session-link")];
  const seen = links.filter((link) => link.offsetParent);
  const here = seen.findIndex((link) => link.hasAttribute("aria-current"));
  seen[Math.max(0, Math.min(seen.length - 1, here + by))]?.click();
};

const search = () => {
  if (getComputedStyle(find("#side")).visibility === "hidden") location.hash = "side";
  setTimeout(() => find('[data-key="search"]')?.focus(), 30);
};

const nextMode = () => {
  const labels = [...document.querySelectorAll(".mode label")];
  labels.find((label) => label.offsetParent)?.click();
};

const dismiss = (target) => {
  const menu = find("details.menu[open]");
  const editing = target.closest(".rename, .message.edit");
  if (menu) menu.open = false;
  else if (editing) find("a.quiet", editing)?.click();
  else if (location.hash === "#side") location.hash = "main";
  else if (find(".reply.live")) find("#stop")?.requestSubmit();
  else target.blur?.();
};

const keys = {
  n: () => find('[data-key="new"]')?.click(),
  j: () => step(1),
  k: () => step(-1),
  m: nextMode,
  "/": () => find("#composer textarea")?.focus(),
  "?": () => find("#keys")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    return search();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && !find("dialog[open]")) {
    dismiss(event.target);
  } else if (keys[event.key] && !event.target.closest(TYPING)) {
    event.preventDefault();
    keys[event.key]();
  }
});
