// Commands in the composer: after "/" a list of them, filtered as one types; arrows, Tab, Enter or a tap choose.
"use strict";
(() => {
  const list = () => document.getElementById("completions");
  const field = () => document.querySelector("#composer textarea");
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
    field().value = option.dataset.insert;
    field().focus();
    field().dispatchEvent(new Event("input", { bubbles: true }));
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
  document.addEventListener("keydown", (event) => {
    if (!list() || list().hidden || event.target !== field() || event.isComposing) return;
    const options = shown(),
      at = options.findIndex((option) => option.ariaSelected === "true");
    const step = { ArrowDown: 1, ArrowUp: -1 } [event.key];
    if (step) mark((at + step + options.length) % options.length);
    else if (event.key === "Tab" || event.key === "Enter") choose(options[Math.max(at, 0)]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
  document.addEventListener("pointerdown", (event) => {
    const option = event.target.closest("#completions [role=option]");
    if (option) { event.preventDefault();
      choose(option); } else if (event.target !== field()) close();
  });
})();
