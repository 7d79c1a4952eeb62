// The composer's text: drafts stay until the server has it, and no letter is lost. What is typed while a message is on
// its way is the next one's, and what is typed while a page is on its way is for that page.
import { find } from "./page.js";
import { carried, carry, drop, keep, recall } from "./storage.js";

export const composer = () => find("#composer");
export const field = () => find("#composer textarea");
// A temporary chat leaves no draft behind.
const key = () => composer().dataset.draft && `draft:${composer().dataset.draft}`;

// The text that is on its way to the server, and whether the next page is on its way here.
let sent = null;
let leaving = false;

const grow = () => {
  if (CSS.supports("field-sizing", "content")) return;
  field().style.height = "auto";
  field().style.height = `${field().scrollHeight}px`;
};

const show = (...texts) => {
  field().value = texts.filter(Boolean).join("\n");
  grow();
};

const save = () => {
  if (!key()) return;
  if (field().value) keep(key(), field().value);
  else drop(key());
};

export const restore = () => {
  const typed = carried();
  show(field().value || (key() && recall(key())), typed);
  if (typed) save();
};

export const sendOff = () => {
  sent = field().value;
  show();
};

export const wasTaken = () => {
  sent = null;
  save();
};

export const wasRefused = () => {
  show(sent, field().value);
  wasTaken();
};

// The chat has begun, and its page comes: what was typed since is its second message.
export const goAlong = () => {
  if (key()) drop(key());
  leaving = true;
  carry(field().value);
};

document.addEventListener("input", (event) => {
  if (event.target !== field()) return;
  grow();
  if (leaving) carry(field().value);
  // Until the server has it, the draft is what was sent.
  else if (sent === null) save();
});

addEventListener("click", (event) => {
  const link = event.target.closest?.('#sidebar .session-link, [data-key="new"]');
  const stays = event.ctrlKey || event.metaKey || event.shiftKey || event.button || event
    .defaultPrevented;
  if (!link || stays) return;
  leaving = true;
  // What stood there is this chat's draft, and stays behind.
  if (field()) show();
});

addEventListener("pageshow", (event) => {
  if (!event.persisted || !leaving) return;
  leaving = false;
  if (field() && key()) show(recall(key()));
});
