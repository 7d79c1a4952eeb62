// A reply that runs or has ended while nobody looks: the tab's title says so, and a notification if it was
// allowed. Only the switch in Settings ever asks for that; nothing goes through anybody's push service.
import { find } from "./page.js";
import { drop, keep, recall } from "./storage.js";

const KEY = "notify";
// Whoever waits for less is still there.
const LONG = 10_000;
const ICON = find("link[rel='apple-touch-icon']")?.href;

const supported = "Notification" in window;
const allowed = () => supported && Notification.permission === "granted" && recall(KEY) === "on";

let sign = "";
let began = 0;

const bare = () => document.title.replace(/^[…✓] /, "");
const draw = () => {
  const wanted = sign ? `${sign} ${bare()}` : bare();
  if (document.title !== wanted) document.title = wanted;
};

const show = async () => {
  const options = { body: bare(), tag: location.pathname, icon: ICON, data: { url: location.href } };
  // Phones show notifications of the worker's alone.
  const worker = await navigator.serviceWorker?.getRegistration();
  if (worker?.active) return worker.showNotification("Reply finished", options);
  new Notification("Reply finished", options).onclick = () => window.focus();
};

const look = () => {
  const running = Boolean(find(".reply.live"));
  if (running && !began) began = Date.now();
  if (running) sign = "…";
  else if (began) {
    sign = document.hidden ? "✓" : "";
    if (document.hidden && Date.now() - began >= LONG && allowed()) show().catch(() => {});
    began = 0;
  } else if (!document.hidden) sign = "";
  draw();
};

document.addEventListener("visibilitychange", look);
// Also after a better title came.
document.addEventListener("htmx:afterSettle", look);
document.addEventListener("htmx:sseClose", () => setTimeout(look));
look();

// The switch. What the browser says counts; it may have been changed in its own settings.
const box = () => find("[data-notify]");

const say = (text) => {
  find("#notify-status").textContent = text;
};

if (box()) {
  box().closest("[hidden]")?.removeAttribute("hidden");
  box().checked = allowed();
  box().disabled = !supported;
  if (!supported) say("This browser has no notifications here. They need HTTPS.");
}

document.addEventListener("change", async (event) => {
  if (event.target !== box()) return;
  drop(KEY);
  say("");
  if (!box().checked) return;
  if (await Notification.requestPermission() === "granted") return keep(KEY, "on");
  box().checked = false;
  say("Your browser doesn't allow notifications of this site. Allow them in its settings first.");
});
