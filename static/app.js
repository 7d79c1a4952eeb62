// The page works without this script; it only adds. Everything is delegated, so swapped-in fragments need no set-up.
"use strict";
const body = document.body;
const find = (selector, root = document) => root.querySelector(selector);
const post = (url, fields, beacon = false) => {
  const form = new URLSearchParams({ ...fields, csrfmiddlewaretoken: body.dataset.csrf });
  return beacon ? navigator.sendBeacon(url, form) : fetch(url, { method: "POST", body: form,
    keepalive: true });
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
if ("serviceWorker" in navigator && isSecureContext) navigator.serviceWorker.register(body.dataset.worker)
  .catch(() => {});

// ── htmx: an ended session leads to the log-in and back; a failure is said ──
document.addEventListener("htmx:beforeSwap", (event) => {
  const address = new URL(event.detail.xhr.responseURL || location.href);
  if (!address.pathname.startsWith("/login/")) return;
  event.preventDefault();
  location.assign(`/login/?next=${encodeURIComponent(location.pathname)}`);
});
// Nobody asked for a poll, so nobody is told that it failed.
const polled = (event) => event.detail.requestConfig?.path.includes("/updates/");
document.addEventListener("htmx:sendError", (event) => polled(event) || toast(
  "OneClaw can't be reached. Nothing is lost: try again.", "error"));
document.addEventListener("htmx:responseError", (event) => {
  if (polled(event)) return;
  const { status, responseText } = event.detail.xhr;
  const said = event.detail.xhr.getResponseHeader("Content-Type")?.startsWith("text/plain") &&
    responseText;
  toast(said ? said : status === 404 ? "That is no longer there." :
    `That did not work (${status}). Reload the page and try again.`, "error");
});
document.addEventListener("htmx:afterRequest", (event) => event.detail.successful && event.detail.elt.matches(
  ".toast") && event.detail.elt.remove());
document.addEventListener("animationend", (event) => event.animationName === "toast-out" && event.target
  .remove());

// ── Copy, dialogs, menus ──
const write = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Plain HTTP in the home network has no clipboard object.
  const area = Object.assign(document.createElement("textarea"), { value: text, className: "hush" });
  body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
};
const copy = async (button) => {
  try {
    const from = button.dataset.copyFrom;
    const source = from ? null : button.dataset.copy ? find(button.dataset.copy) : find("pre", button
      .closest(".code"));
    await write(from ? await (await fetch(from)).text() : source.value ?? source.textContent);
  } catch {
    return toast("The browser did not allow copying.", "error");
  }
  button.classList.add("done");
  if (button.classList.contains("code-copy")) button.textContent = "Copied";
  else toast("Copied");
  setTimeout(() => {
    button.classList.remove("done");
    if (button.classList.contains("code-copy")) button.textContent = "Copy";
  }, 1500);
};
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (button) copy(button);
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens).showModal();
  if (event.target.matches("dialog")) event.target.close();
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target) || event.target.closest(".menu-item")) menu.open = false;
  }
});
document.addEventListener("submit", (event) => {
  const question = (event.submitter ?? event.target).dataset.confirm ?? event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
}, true);
document.addEventListener("htmx:afterSwap", (event) => {
  const box = event.detail.target;
  if (box?.matches("dialog") && !box.open) box.showModal();
  if (box) find("[autofocus]", event.detail.elt)?.focus();
});
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  // A reply brings the list anew; while something is done in it, it stays as it is.
  const list = event.detail.target;
  if (list.id === "chat-list" && find(".rename, details.menu[open], .pick:checked", list)) event.detail
    .shouldSwap = false;
});
// On a phone the tabs are wider than the page.
find(".tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

// ── The thread: it is laid out from its end, so 0 is the newest message ──
const atEnd = () => Math.abs(find("#thread")?.scrollTop ?? 0) < 40;
const toEnd = () => find("#thread") && (find("#thread").scrollTop = 0);
document.addEventListener("scroll", (event) => {
  if (event.target.id === "thread") find(".to-latest").hidden = atEnd();
}, { capture: true, passive: true });
document.addEventListener("htmx:sseBeforeMessage", (event) => {
  // Finished blocks announce themselves; the last one was the tail until now.
  if (event.detail.type === "done") find("#announce").textContent = find(".live .tail")?.textContent ||
    "Reply finished";
});
document.addEventListener("htmx:afterSwap", (event) => {
  // Turning to another version replaces the thread: the reader stays at its button.
  const { path, elt } = event.detail.requestConfig ?? {};
  const row = document.getElementById(`versions-${path?.match(/(\d+)\/version\/$/)?.[1]}`);
  const button = row && (find(`[aria-label="${elt.ariaLabel}"]:enabled`, row) ?? find("button:enabled",
    row));
  button?.focus({ preventScroll: true });
  button?.scrollIntoView({ block: "center" });
});

// ── The composer: Enter sends, drafts stay until the server has the text ──
const composer = () => find("#composer");
const field = () => find("#composer textarea");
const draftKey = () => `draft:${composer().dataset.draft}`;
const touch = matchMedia("(pointer: coarse)").matches;
const grow = () => {
  if (!field() || CSS.supports("field-sizing", "content")) return;
  field().style.height = "auto";
  field().style.height = `${field().scrollHeight}px`;
};
const fill = (text) => {
  field().value = text;
  field().dispatchEvent(new Event("input", { bubbles: true }));
  field().focus();
};
if (field()) {
  if (!field().value) field().value = localStorage.getItem(draftKey()) ?? "";
  grow();
}
document.addEventListener("input", (event) => {
  if (event.target !== field()) return;
  grow();
  if (field().value) localStorage.setItem(draftKey(), field().value);
  else localStorage.removeItem(draftKey());
});
document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, successful, xhr } = event.detail;
  if (elt !== composer() || !successful || xhr.getResponseHeader("HX-Retarget") || xhr.responseURL
    .includes("/login/")) return;
  localStorage.removeItem(draftKey());
  field().value = "";
  grow();
  find("#refusal").hidden = true;
  find("#messages > .welcome")?.remove();
  toEnd();
});
document.addEventListener("click", (event) => {
  const suggestion = event.target.closest("[data-fill]");
  if (suggestion) fill(suggestion.dataset.fill);
  if (suggestion || event.target.closest(".to-latest")) event.preventDefault();
  if (event.target.closest(".to-latest")) toEnd();
});

// ── Other tabs: ask now and then for what was said elsewhere, while the page is seen and quiet ──
const newest = () => Math.max(0, ...[...document.querySelectorAll("[data-message]")].map((row) => +row.dataset
  .message));
const busy = () => find(".chat .htmx-request, .reply.live, .message.edit");
setInterval(() => {
  const url = find("#thread")?.dataset.updates;
  if (url && !document.hidden && !busy()) htmx.ajax("GET",
  `${url}?after=${newest()}`, { target: "#messages", swap: "beforeend" });
}, 4000);
document.addEventListener("htmx:beforeSwap", (event) => {
  // A send meanwhile brings the same rows, so an answer that it overtook is dropped: the next poll asks again.
  if (polled(event) && (busy() || !event.detail.requestConfig.path.endsWith(`=${newest()}`))) event.detail
    .shouldSwap = false;
});

// ── Keys ──
const step = (by) => {
  const links = [...document.querySelectorAll("#sidebar .session-link")].filter((link) => link
  .offsetParent);
  const here = links.findIndex((link) => link.hasAttribute("aria-current"));
  links[Math.max(0, Math.min(links.length - 1, here + by))]?.click();
};
const search = () => {
  if (getComputedStyle(find("#side")).visibility === "hidden") location.hash = "side";
  setTimeout(() => find('[data-key="search"]')?.focus(), 30);
};
const keys = {
  n: () => find('[data-key="new"]')?.click(),
  j: () => step(1),
  k: () => step(-1),
  m: () => [...document.querySelectorAll(".mode label")].find((label) => label.offsetParent)?.click(),
  "/": () => field()?.focus(),
  "?": () => find("#keys")?.showModal(),
};
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    return search();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Enter" && event.target === field() && !event.shiftKey && !touch && !event
    .defaultPrevented) {
    event.preventDefault();
    if (field().value.trim()) composer().requestSubmit(find(".send"));
  } else if (event.key === "Escape" && !find("dialog[open]")) {
    if (find("details.menu[open]")) find("details.menu[open]").open = false;
    else if (event.target.closest(".rename, .message.edit")) find("a.quiet", event.target.closest(
      ".rename, .message.edit"))?.click();
    else if (location.hash === "#side") location.hash = "main";
    else if (find(".reply.live")) find("#stop")?.requestSubmit();
    else event.target.blur?.();
  } else if (!event.target.closest(
      "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable], dialog[open]") &&
    keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});
