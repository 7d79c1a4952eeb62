// The composer: Enter sends, drafts stay until the server has the text, suggestions fill it.
import { loggedOut } from "./failures.js";
import { find } from "./page.js";
import { drop, keep, recall } from "./storage.js";
import { toEnd } from "./thread.js";

const composer = () => find("#composer");
const field = () => find("#composer textarea");
const draft = () => `draft:${composer().dataset.draft}`;
const touch = matchMedia("(pointer: coarse)").matches;

const grow = () => {
  if (!field() || CSS.supports("field-sizing", "content")) return;
  field().style.height = "auto";
  field().style.height = `${field().scrollHeight}px`;
};

export const fill = (text) => {
  field().value = text;
  field().focus();
  field().dispatchEvent(new Event("input", { bubbles: true }));
};

if (field()) {
  if (!field().value) field().value = recall(draft()) ?? "";
  grow();
}

document.addEventListener("input", (event) => {
  if (event.target !== field()) return;
  grow();
  if (field().value) keep(draft(), field().value);
  else drop(draft());
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target !== field() || event.defaultPrevented) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  // On a touch screen Enter begins a line, as it does with Shift.
  if (touch || event.shiftKey) return;
  event.preventDefault();
  if (field().value.trim()) composer().requestSubmit(find(".send"));
});

document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, successful, xhr } = event.detail;
  if (elt !== composer() || !successful || xhr.getResponseHeader("HX-Retarget") || loggedOut(xhr)) return;
  drop(draft());
  field().value = "";
  grow();
  find("#refusal").hidden = true;
  find("#messages > .welcome")?.remove();
  toEnd();
});

document.addEventListener("click", (event) => {
  const suggestion = event.target.closest("[data-fill]");
  if (!suggestion) return;
  event.preventDefault();
  fill(suggestion.dataset.fill);
});
