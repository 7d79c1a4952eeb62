// The composer: Enter sends, drafts stay until the server has the text, suggestions fill it.
// With a keyboard at hand it has the focus whenever nothing else wants it.
import { loggedOut } from "./failures.js";
import { body, find } from "./page.js";
import { drop, keep, recall } from "./storage.js";
import { toEnd } from "./thread.js";

const composer = () => find("#composer");
const field = () => find("#composer textarea");
// A temporary chat leaves no draft behind.
const draft = () => composer().dataset.draft && `draft:${composer().dataset.draft}`;
// On a touch screen the focus would bring up the keyboard, and Enter begins a line.
const touch = matchMedia("(pointer: coarse)").matches;

const grow = () => {
  if (!field() || CSS.supports("field-sizing", "content")) return;
  field().style.height = "auto";
  field().style.height = `${field().scrollHeight}px`;
};

export const takeFocus = () => {
  if (!touch) field()?.focus({ preventScroll: true });
};

export const fill = (text) => {
  field().value = text;
  field().focus();
  field().dispatchEvent(new Event("input", { bubbles: true }));
};

if (field()) {
  if (!field().value && draft()) field().value = recall(draft()) ?? "";
  grow();
  if (document.activeElement === body && !location.hash) takeFocus();
}

document.addEventListener("input", (event) => {
  if (event.target !== field()) return;
  grow();
  if (!draft()) return;
  if (field().value) keep(draft(), field().value);
  else drop(draft());
});

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

document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, xhr } = event.detail;
  // htmx calls an answer that leads to another page neither a success nor a failure.
  const taken = xhr.status >= 200 && xhr.status < 300 && !xhr.getResponseHeader("HX-Retarget");
  if (elt !== composer() || !taken || loggedOut(xhr)) return;
  if (draft()) drop(draft());
  field().value = "";
  grow();
  find("#refusal").hidden = true;
  find("#messages > .welcome")?.remove();
  toEnd();
  takeFocus();
});

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
