// Files for the composer: each goes up at once, in the order in which they were given.
import { takeFocus } from "./composer.js";
import { find } from "./page.js";
import { cancel, send } from "./uploading.js";

export const composer = () => find("#composer");
export const list = () => find("#attached");
// One after the other, so that they arrive in the order in which they were given.
let queue = Promise.resolve(true);
let waiting = 0;

export const take = (files) => {
  for (const file of files) {
    const row = find("#attaching").content.firstElementChild.cloneNode(true);
    find(".file-name", row).textContent = file.name;
    find("[data-cancels]", row).ariaLabel = `Cancel ${file.name}`;
    list().append(row);
    waiting += 1;
    queue = queue.then(async (well) => {
      const sent = !row.isConnected || await send(row, file, composer().dataset.attach);
      waiting -= 1;
      return well && sent;
    });
  }
  takeFocus();
};

// A message with a file needs no words.
const settle = () => {
  const field = find("#composer textarea");
  if (field) field.required = !find(".attached-file:not(.failed)", list());
};

if (list()) {
  new MutationObserver(settle).observe(list(), { childList: true });
  settle();
}

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-attaches]")) return;
  take([...event.target.files]);
  event.target.value = "";
  event.target.closest("details")?.removeAttribute("open");
});

document.addEventListener("click", (event) => {
  const row = event.target.closest("[data-cancels]")?.closest("li");
  if (!row) return;
  row.remove();
  cancel(row);
  takeFocus();
});

// A message sent while a file goes up waits for it; where one fails, its writer decides.
let held = false;

document.addEventListener("htmx:confirm", async (event) => {
  const { elt, issueRequest } = event.detail;
  if (elt !== composer() || !waiting) return;
  event.preventDefault();
  if (held) return;
  held = true;
  composer().ariaBusy = "true";
  const well = await queue;
  held = false;
  composer().ariaBusy = null;
  queue = Promise.resolve(true);
  if (well) issueRequest(true);
});
