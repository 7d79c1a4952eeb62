// The composer: Enter sends, suggestions fill it, and with a keyboard at hand it has the focus whenever nothing else
// wants it.
import { composer, field, goAlong, restore, sendOff, wasRefused, wasTaken } from "./drafts.js";
import { loggedOut } from "./failures.js";
import { body, find } from "./page.js";
import { toEnd } from "./thread.js";

// On a touch screen the focus would bring up the keyboard, and Enter begins a line.
const touch = matchMedia("(pointer: coarse)").matches;

export const takeFocus = () => {
  if (!touch) field()?.focus({ preventScroll: true });
};

export const fill = (text) => {
  field().value = text;
  field().focus();
  field().dispatchEvent(new Event("input", { bubbles: true }));
};

if (field()) {
  restore();
  if (document.activeElement === body && !location.hash) takeFocus();
  // The page asks for the focus before scripts run, so that no letter is early; on a phone a chat is opened to be read.
  if (touch && find("#stop")) field().blur();
}

const MODIFIERS = ["ctrlKey", "metaKey", "altKey", "shiftKey", "isComposing"];
const bare = (event) => !MODIFIERS.some((name) => event[name]);

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !bare(event) || event.defaultPrevented) return;
  if (event.target === field() && !touch) {
    event.preventDefault();
    if (field().value.trim() || find("#attached .attached-file:not(.failed)")) composer().requestSubmit(
      find(".send"));
  } else if (event.target.matches(".message.edit textarea") && !touch) {
    event.preventDefault();
    if (event.target.value.trim()) event.target.form.requestSubmit();
  } else if (event.target.matches(".mode input")) {
    // In a form Enter would send the message; here it says that the choice is made.
    event.preventDefault();
    event.target.closest("details").open = false;
    takeFocus();
  }
});

document.addEventListener("htmx:beforeSend", (event) => {
  if (event.detail.elt === composer()) sendOff();
});

document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, xhr } = event.detail;
  if (elt !== composer()) return;
  // htmx calls an answer that leads to another page neither a success nor a failure.
  const taken = xhr.status >= 200 && xhr.status < 300 && !xhr.getResponseHeader("HX-Retarget");
  if (!taken || loggedOut(xhr)) return wasRefused();
  if (xhr.getResponseHeader("HX-Redirect")) return goAlong();
  wasTaken();
  forget();
  find("#messages > .welcome")?.remove();
  toEnd();
  takeFocus();
});

// What was refused may be right now: another model, one file less.
const forget = () => (find("#refusal").hidden = true);

document.addEventListener("change", (event) => {
  if (event.target.closest("#composer")) forget();
});

document.addEventListener("htmx:afterRequest", (event) => {
  if (!event.detail.elt.closest("#attached")) return;
  forget();
  takeFocus();
});

// The memory menu opens at the mode that is on: arrow keys choose another.
document.addEventListener("toggle", ({ target }) => {
  if (target.matches(".mode[open]")) find(":checked", target).focus();
}, true);

document.addEventListener("click", (event) => {
  const suggestion = event.target.closest("[data-fill]");
  if (!suggestion) return;
  event.preventDefault();
  fill(suggestion.dataset.fill);
});

// A message sent in other words brings the thread anew; one that was refused stays where it is.
document.addEventListener("htmx:afterSwap", (event) => {
  const { requestConfig, target } = event.detail;
  if (target?.id === "thread" && requestConfig?.elt.matches(".message.edit")) takeFocus();
});
