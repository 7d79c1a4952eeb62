// Commands in the composer: after "/" a list of them, filtered as one types.
// Arrows, Tab, Enter or a tap choose.
import { fill } from "./composer.js";
import { find } from "./page.js";

const list = () => find("#completions");
const field = () => find("#composer textarea");
const shown = () => [...list().children].filter((option) => !option.hidden);

const mark = (at) => {
  const options = shown();
  options.forEach((option, place) => option.setAttribute("aria-selected", place === at));
  options[at]?.scrollIntoView({ block: "nearest" });
  if (options[at]) field().setAttribute("aria-activedescendant", options[at].id);
  else field().removeAttribute("aria-activedescendant");
};

const close = () => {
  if (!list() || list().hidden) return;
  list().hidden = true;
  mark(-1);
};

const choose = (option) => {
  fill(option.dataset.insert);
  close();
};

document.addEventListener("input", (event) => {
  if (!list() || event.target !== field()) return;
  const typed = event.target.value;
  if (!/^\/[a-z]*$/.test(typed)) return close();
  for (const option of list().children) option.hidden = !option.dataset.insert.startsWith(typed);
  list().hidden = !shown().length || shown()[0].dataset.insert.trim() === typed;
  if (!list().hidden) mark(0);
});

// Before any other key of the page: while the list is open, its keys are its own.
document.addEventListener("keydown", (event) => {
  if (!list() || list().hidden || event.target !== field() || event.isComposing) return;
  const options = shown();
  const at = options.findIndex((option) => option.ariaSelected === "true");
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step) mark((at + step + options.length) % options.length);
  else if (event.key === "Tab" || event.key === "Enter") choose(options[Math.max(at, 0)]);
  else if (event.key === "Escape") close();
  else return;
  event.preventDefault();
  event.stopPropagation();
}, true);

document.addEventListener("pointerdown", (event) => {
  const option = event.target.closest("#completions [role=option]");
  if (option) {
    event.preventDefault();
    choose(option);
  } else if (event.target !== field()) {
    close();
  }
});
