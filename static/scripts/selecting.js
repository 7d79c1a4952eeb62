// Choosing several chats: how many there are, all of them at once, and a row that is ticked by a click.
import { find } from "./page.js";

const selecting = () => find("#selecting")?.checked;
const picks = () => [...document.querySelectorAll("#sidebar .pick")];

const count = () => {
  const all = picks();
  const chosen = all.filter((pick) => pick.checked).length;
  const every = find("#select-all");
  find("#selected").textContent = `${chosen} selected`;
  every.checked = chosen > 0 && chosen === all.length;
  every.indeterminate = chosen > 0 && chosen < all.length;
  for (const button of document.querySelectorAll("#batch button")) button.disabled = !chosen;
};

const leave = () => {
  for (const pick of picks()) pick.checked = false;
  find("#selecting").checked = false;
};

document.addEventListener("change", ({ target }) => {
  if (!target.closest("#sidebar")) return;
  if (target.id === "selecting" && !target.checked) leave();
  if (target.id === "select-all") picks().forEach((pick) => (pick.checked = target.checked));
  if (target.matches("#selecting, #select-all, .pick")) count();
});

document.addEventListener("click", (event) => {
  const row = selecting() && event.target.closest("#chat-list .session-link")?.closest(".session");
  if (!row) return;
  event.preventDefault();
  find(".pick", row).click();
});

// Rows that come while one chooses belong to "all" too.
document.addEventListener("htmx:afterSettle", () => {
  if (selecting()) count();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || !selecting()) return;
  if (!event.target.closest("#sidebar")) return;
  event.preventDefault();
  leave();
  find("#selecting").focus();
});
