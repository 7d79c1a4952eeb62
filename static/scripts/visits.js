// What the server wants to know: the time zone, and when the page goes away or comes back.
import { body, find, post, postLast } from "./page.js";

const { hiddenUrl, returnedUrl, zoneUrl } = body.dataset;

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zoneUrl && zone && zone !== body.dataset.zone) post(zoneUrl, { zone });

const session = () => find("[data-session-id]")?.dataset.sessionId || body.dataset.session || "";
let away = false;

const leave = () => {
  if (away || !hiddenUrl) return;
  away = true;
  postLast(hiddenUrl, { session: session() });
};

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return leave();
  if (away && returnedUrl) post(returnedUrl, { session: session() });
  away = false;
});
addEventListener("pagehide", leave);
addEventListener("pageshow", () => (away = false));
