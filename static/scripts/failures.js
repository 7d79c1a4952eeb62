// Requests that fail: an ended session leads to the log-in and back, anything else is said.
import { body, find } from "./page.js";
import { toast } from "./toasts.js";

const { login } = body.dataset;

export const loggedOut = (xhr) => {
  const led = xhr.getResponseHeader("HX-Redirect") || xhr.responseURL || location.href;
  return new URL(led, location.href).pathname === login;
};

// Nobody asked for a poll, so nobody is told that it failed.
export const polled = (event) => {
  const updates = find("#thread")?.dataset.updates;
  return Boolean(updates && event.detail.requestConfig?.path.startsWith(updates));
};

const explain = (xhr) => {
  if (xhr.getResponseHeader("Content-Type")?.startsWith("text/plain") && xhr.responseText) {
    return xhr.responseText;
  }
  if (xhr.status === 404) return "That no longer exists.";
  return `That didn't work (${xhr.status}). Reload the page and try again.`;
};

document.addEventListener("htmx:beforeSwap", (event) => {
  if (!loggedOut(event.detail.xhr)) return;
  event.preventDefault();
  location.assign(`${login}?next=${encodeURIComponent(location.pathname)}`);
});

document.addEventListener("htmx:sendError", (event) => {
  if (!polled(event)) toast("Can't reach OneClaw. Nothing is lost: try again.", "error");
});

document.addEventListener("htmx:responseError", (event) => {
  if (!polled(event)) toast(explain(event.detail.xhr), "error");
});
