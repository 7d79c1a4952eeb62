// What the server wants to know: the time zone, and when the page goes away or comes back.
import { body, find, post, postLast } from "./page.js";

const { hiddenUrl, returnedUrl, zoneUrl } = body.dataset;

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zoneUrl && zone && zone !== body.dataset.zone) post(zoneUrl, { zone });

const session = () => find("[data-session-id]")?.dataset.sessionId || body.dataset.session || "";
let away = false;
// On the way to another page of this app: that is no farewell, though the browser hides the page all the same.
let moving = 0;
const WHILE = 10_000;

const move = (url) => {
  if (new URL(url, location.href).origin === location.origin) moving = Date.now();
};
if (window.navigation) {
  navigation.addEventListener("navigate", (event) => {
    if (!event.downloadRequest && !event.hashChange) move(event.destination.url);
  });
} else {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.button;
    if (link && !elsewhere && !link.target && !link.hasAttribute("download")) move(link.href);
  });
  document.addEventListener("submit", (event) => move(event.target.action));
  document.addEventListener("htmx:beforeRedirect", () => move(location.href));
}

const leave = () => {
  if (away || !hiddenUrl || Date.now() - moving < WHILE) return;
  away = true;
  postLast(hiddenUrl, { session: session() });
};

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return leave();
  if (away && returnedUrl) post(returnedUrl, { session: session() });
  away = false;
});
addEventListener("pagehide", leave);
addEventListener("pageshow", () => {
  away = false;
  moving = 0;
});
