// The memory editor: what was typed and not saved survives a closed tab, an ended session and a crash.
"use strict";
{
  const area = document.querySelector("textarea[data-draft]");
  const base = area.form.elements.base;
  const key = `edit:${area.dataset.draft}:${area.dataset.owner}`;
  const notice = document.querySelector("#draft-notice");
  const drop = () => localStorage.removeItem(key);
  const draft = JSON.parse(localStorage.getItem(key) ?? "null");
  if (new URLSearchParams(location.search).has("saved")) {
    drop();
    history.replaceState(null, "", location.pathname);
  } else if (draft && draft.text !== area.value) {
    area.value = draft.text;
    base.value = draft.base;
    if (notice) notice.hidden = false;
  }
  document.addEventListener("input", (event) => {
    if (event.target.matches("textarea[data-draft]")) {
      localStorage.setItem(key, JSON.stringify({ text: event.target.value, base: event.target.form
          .elements.base.value }));
    }
  });
  // Saving one entry brings the file anew. Text that is not saved yet stays, with its base, by which Save merges the two.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    if (!event.detail.target.matches("#editor-text, #editor-base")) return;
    const now = document.querySelector("#editor-text");
    if (now.value === now.defaultValue) drop();
    else event.detail.shouldSwap = false;
  });
  document.addEventListener("click", (event) => event.target.closest("[data-discard-draft]") && drop());
}
