// The page works without this script; it only adds. Everything is delegated, so swapped-in fragments need no set-up.
"use strict";
const body = document.body;
const find = (selector, root = document) => root.querySelector(selector);
const post = (url, fields, beacon = false) => {
  const form = new URLSearchParams({ ...fields, csrfmiddlewaretoken: body.dataset.csrf });
  return beacon ? navigator.sendBeacon(url, form) : fetch(url, { method: "POST", body: form, keepalive: true });
};
const toast = (text, kind = "") => {
  const note = document.createElement("div");
  note.className = `toast ${kind}`;
  note.textContent = text;
  find("#toasts").append(note);
};

// ── What the server wants to know: the time zone, and when the page goes away or comes back ──
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (body.dataset.zoneUrl && zone && zone !== body.dataset.zone) post(body.dataset.zoneUrl, { zone });
const currentSession = () => find("[data-session-id]")?.dataset.sessionId || body.dataset.session || "";
let away = false;
const leave = () => {
  if (away || !body.dataset.hiddenUrl) return;
  away = true;
  post(body.dataset.hiddenUrl, { session: currentSession() }, true);
};
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return leave();
  if (away && body.dataset.returnedUrl) post(body.dataset.returnedUrl, { session: currentSession() });
  away = false;
});
addEventListener("pagehide", leave);
addEventListener("pageshow", () => (away = false));
if ("serviceWorker" in navigator && isSecureContext) navigator.serviceWorker.register(body.dataset.worker).catch(() => {});

// ── htmx: an ended session leads to the log-in and back; a failure is said ──
document.addEventListener("htmx:beforeSwap", (event) => {
  const address = new URL(event.detail.xhr.responseURL || location.href);
  if (!address.pathname.startsWith("/login/")) return;
  event.preventDefault();
  location.assign(`/login/?next=${encodeURIComponent(location.pathname)}`);
});
document.addEventListener("htmx:sendError", () => toast("OneClaw can't be reached. Nothing is lost: try again.", "error"));
document.addEventListener("htmx:responseError", (event) => {
  const { status, responseText } = event.detail.xhr;
  const said = event.detail.xhr.getResponseHeader("Content-Type")?.startsWith("text/plain") && responseText;
  toast(said ? said : status === 404 ? "That is no longer there." : `That did not work (${status}). Reload the page and try again.`, "error");
});
document.addEventListener("animationend", (event) => event.animationName === "toast-out" && event.target.remove());

// ── Copy, dialogs, menus ──
const copy = async (button) => {
  const source = button.dataset.copy ? find(button.dataset.copy) : find("pre", button.closest(".code"));
  try {
    await navigator.clipboard.writeText(source.dataset.text ?? source.value ?? source.textContent);
    button.classList.add("done");
    if (!button.firstElementChild) button.textContent = "Copied";
    else toast("Copied");
  } catch {
    toast("The browser did not allow copying.", "error");
  }
  setTimeout(() => {
    button.classList.remove("done");
    if (!button.firstElementChild) button.textContent = "Copy";
  }, 1500);
};
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
  const opener = event.target.closest("[data-opens]");
  if (opener) {
    event.preventDefault();
    document.getElementById(opener.dataset.opens).showModal();
  }
  if (event.target.matches("dialog")) event.target.close();
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target) || event.target.closest(".menu-item")) menu.open = false;
  }
});
document.addEventListener("htmx:afterSwap", (event) => {
  const box = event.detail.target;
  if (box.matches("dialog") && !box.open) box.showModal();
});
