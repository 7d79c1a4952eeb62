// Other tabs: ask now and then for what was said elsewhere, while the page is seen and quiet.
import { polled } from "./failures.js";
import { find } from "./page.js";

const EVERY = 4000;

const newest = () => {
  const rows = [...document.querySelectorAll("[data-message]")];
  return Math.max(0, ...rows.map((row) => Number(row.dataset.message)));
};

const busy = () => find(".chat .htmx-request, .reply.live, .message.edit");

setInterval(() => {
  const url = find("#thread")?.dataset.updates;
  if (!url || document.hidden || busy()) return;
  htmx.ajax("GET", `${url}?after=${newest()}`, { target: "#messages", swap: "beforeend" });
}, EVERY);

// A send meanwhile brings the same rows, so an answer that it overtook is dropped: the next poll asks again.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (!polled(event)) return;
  const overtaken = !event.detail.requestConfig.path.endsWith(`=${newest()}`);
  if (busy() || overtaken) event.detail.shouldSwap = false;
});
