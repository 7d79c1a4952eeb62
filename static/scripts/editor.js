// The memory editor: what was typed and not saved survives a closed tab, an ended session and a crash.
import { find } from "./page.js";
import { drop, keep, recall } from "./storage.js";

const area = find("textarea[data-draft]");
const key = `edit:${area.dataset.draft}:${area.dataset.owner}`;

const earlier = () => {
  try {
    return JSON.parse(recall(key));
  } catch {
    return null;
  }
};

const show = (draft) => {
  area.value = draft.text;
  area.form.elements.base.value = draft.base;
  const notice = find("#draft-notice");
  if (notice) notice.hidden = false;
};

const draft = earlier();
if (new URLSearchParams(location.search).has("saved")) {
  drop(key);
  history.replaceState(null, "", location.pathname);
} else if (draft && draft.text !== area.value) {
  show(draft);
}

document.addEventListener("input", (event) => {
  if (!event.target.matches("textarea[data-draft]")) return;
  const { value, form } = event.target;
  keep(key, JSON.stringify({ text: value, base: form.elements.base.value }));
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-discard-draft]")) drop(key);
});
