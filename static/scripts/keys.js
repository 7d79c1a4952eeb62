// Keys: shortcuts with a modifier anywhere, Escape for whatever is open, and letters that belong to the composer.
import { fold, isHidden } from "./frame.js";
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
  const field = find('[data-key="search"]');
  if (isHidden() && matchMedia("(min-width: 900px)").matches) fold(false);
  if (getComputedStyle(find("#side")).visibility !== "hidden") return field?.focus();
  location.hash = "side";
  setTimeout(() => field?.focus(), 30);
};

const clearSearch = () => {
  const field = find('[data-key="search"]');
  field.value = "";
  field.dispatchEvent(new Event("search", { bubbles: true }));
  field.focus();
};

// From the search field down through what was found, and back up.
const walk = (event) => {
  const stops = [find('[data-key="search"]'), ...document.querySelectorAll("#found a")];
  const here = stops.indexOf(event.target);
  const by = { ArrowDown: 1, ArrowUp: -1 } [event.key];
  if (here < 0 || stops.length < 2) return false;
  if (by) stops[Math.max(0, Math.min(stops.length - 1, here + by))].focus();
  else if (event.key === "Enter" && here === 0) stops[1].click();
  else return false;
  return true;
};

const closeMenu = (menu) => {
  const within = menu.contains(document.activeElement);
  menu.open = false;
  if (within) find("summary", menu).focus();
};

const dismiss = (target) => {
  const menu = find("details.menu[open]");
  const editing = target.closest(".rename, .message.edit");
  if (menu) closeMenu(menu);
  else if (editing) find("a.quiet", editing)?.click();
  else if (find("#found a")) clearSearch();
  else if (location.hash === "#side") location.hash = "main";
  else if (find(".reply.live")) find("#stop")?.requestSubmit();
  else target.blur?.();
};

const bareKeys = {
  "/": () => find("#composer textarea")?.focus(),
  "?": () => find("#keys")?.showModal(),
};

const withModifier = (event) => {
  const ctrl = (event.ctrlKey || event.metaKey) && !event.altKey;
  const letter = event.key.toLowerCase();
  if (ctrl && !event.shiftKey && letter === "k") return search;
  if (ctrl && !event.shiftKey && letter === "b") return () => fold();
  if (ctrl && event.shiftKey && letter === "o") return () => find('[data-key="new"]')?.click();
  if (event.altKey && !event.ctrlKey && event.key === "ArrowDown") return () => step(1);
  if (event.altKey && !event.ctrlKey && event.key === "ArrowUp") return () => step(-1);
  return null;
};

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.defaultPrevented) return;
  const modified = event.ctrlKey || event.metaKey || event.altKey;
  const action = modified ? withModifier(event) : !event.target.closest(TYPING) && bareKeys[event.key];
  if (action) {
    event.preventDefault();
    action();
  } else if (modified) {
    return;
  } else if (event.key === "Escape" && !find("dialog[open]")) {
    dismiss(event.target);
  } else if (walk(event)) {
    event.preventDefault();
  } else if (event.key.trim().length === 1 && !event.target.closest(TYPING)) {
    // The letter follows the focus: what is typed beside the composer is meant for it.
    find("#composer textarea")?.focus();
  }
});
