// One file on its way up: how far it is, what came of it, and why it failed.
import { loggedOut } from "./failures.js";
import { body, find } from "./page.js";

const goingUp = new Map();

const say = (row, text) => (find(".attached-state", row).textContent = text);

const explain = (xhr) => {
  if (xhr.status === 422) return xhr.responseText;
  if (xhr.status === 413) return "This file is too large.";
  if (xhr.status === 0) return "Can't reach OneClaw. Try again.";
  return loggedOut(xhr) ? "Log in again first." : `That didn't work (${xhr.status}).`;
};

const fail = (row, why) => {
  row.classList.add("failed");
  find("progress", row).remove();
  say(row, why);
  find("[data-cancels]", row).ariaLabel = `Dismiss ${find(".file-name", row).textContent}`;
};

const arrive = (row, html) => {
  row.insertAdjacentHTML("afterend", html);
  const ready = row.nextElementSibling;
  row.remove();
  window.htmx.process(ready);
};

export const send = (row, file, address) => new Promise((resolve) => {
  const xhr = new XMLHttpRequest();
  const form = new FormData();
  form.append("csrfmiddlewaretoken", body.dataset.csrf);
  form.append("session", body.dataset.session ?? "");
  form.append("file", file, file.name);
  goingUp.set(row, xhr);
  xhr.upload.addEventListener("progress", ({ loaded, total }) => {
    find("progress", row).value = loaded / total;
    if (loaded === total) say(row, "Reading…");
  });
  xhr.addEventListener("loadend", () => {
    goingUp.delete(row);
    const ready = xhr.status === 200 && !loggedOut(xhr);
    if (row.isConnected && ready) arrive(row, xhr.responseText);
    else if (row.isConnected) fail(row, explain(xhr));
    resolve(ready);
  });
  xhr.open("POST", address);
  xhr.send(form);
});

export const cancel = (row) => goingUp.get(row)?.abort();
