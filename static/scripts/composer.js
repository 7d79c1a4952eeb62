// The composer: Enter sends, drafts stay until the server has the text, suggestions fill it.
// With a keyboard at hand it has the focus whenever nothing else wants it, and no letter is lost: what is typed while
// a message is on its way is the next one's, and what is typed while a page is on its way is for that page.
import { loggedOut } from "./failures.js";
import { body, find } from "./page.js";
import { carried, carry, drop, keep, recall } from "./storage.js";
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

const saveDraft = () => {
  if (!draft()) return;
  if (field().value) keep(draft(), field().value);
  else drop(draft());
};

const show = (...texts) => {
  field().value = texts.filter(Boolean).join("\n");
  grow();
};

if (field()) {
  const typed = carried();
  show(field().value || (draft() && recall(draft())), typed);
  if (typed) saveDraft();
  if (document.activeElement === body && !location.hash) takeFocus();
  // The page asks for the focus before scripts run, so that no letter is early; a chat is opened to be read on a phone.
  if (touch && find("#stop")) field().blur();
}

// The text that is on its way to the server, and whether the next page is on its way here.
let sent = null;
let leaving = false;
let beside = "";

document.addEventListener("input", (event) => {
  if (event.target !== field()) return;
  grow();
  if (leaving) carry(field().value);
  // Until the server has it, the draft is what was sent.
  else if (sent === null) saveDraft();
});

const leave = () => {
  leaving = true;
  beside = "";
  // What stood there is this chat's draft, and stays behind.
  if (field()) show();
};

addEventListener("click", (event) => {
  const link = event.target.closest?.('#sidebar .session-link, [data-key="new"]');
  const here = event.ctrlKey || event.metaKey || event.shiftKey || event.button || event.defaultPrevented;
  if (link && !here) leave();
});

// On a page without a composer, letters that are typed on the way to one.
addEventListener("keydown", (event) => {
  if (!leaving || field() || event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey)
    return;
  beside += event.key;
  carry(beside);
});

addEventListener("pageshow", (event) => {
  if (!event.persisted || !leaving) return;
  leaving = false;
  if (field() && draft()) show(recall(draft()));
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

document.addEventListener("htmx:beforeSend", (event) => {
  if (event.detail.elt !== composer()) return;
  sent = field().value;
  show();
});

document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, xhr } = event.detail;
  if (elt !== composer()) return;
  const text = sent;
  sent = null;
  // htmx calls an answer that leads to another page neither a success nor a failure.
  const taken = xhr.status >= 200 && xhr.status < 300 && !xhr.getResponseHeader("HX-Retarget");
  if (!taken || loggedOut(xhr)) {
    show(text, field().value);
    return saveDraft();
  }
  if (xhr.getResponseHeader("HX-Redirect")) {
    // The chat has begun: what was typed since is its second message.
    if (draft()) drop(draft());
    leaving = true;
    return carry(field().value);
  }
  saveDraft();
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
