// Buttons that copy: a code block, another element's text, or a text that the server has. And one that wraps code.
import { body, find } from "./page.js";
import { toast } from "./toasts.js";

const write = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Plain HTTP in the home network has no clipboard object.
  const area = Object.assign(document.createElement("textarea"), { value: text, className: "hush" });
  body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
};

const textFor = async (button) => {
  const { copy, copyFrom } = button.dataset;
  if (copyFrom) return (await fetch(copyFrom)).text();
  const source = copy ? find(copy) : find("pre", button.closest(".code"));
  return source.value ?? source.textContent;
};

// The button itself says it: a toast would lie over others.
const say = (button, word, icon) => {
  const drawn = find("use", button);
  if (!drawn) return (button.textContent = word);
  button.ariaLabel = word;
  drawn.setAttribute("href", icon);
};

const copy = async (button) => {
  try {
    await write(await textFor(button));
  } catch {
    return toast("Your browser didn't allow copying.", "error");
  }
  find("#announce").textContent = "Copied";
  say(button, "Copied", "#i-done");
  setTimeout(() => say(button, "Copy", "#i-copy"), 1500);
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (button) copy(button);
  const wrap = event.target.closest("[data-wrap]");
  if (wrap) wrap.ariaPressed = wrap.closest(".code").classList.toggle("wrapped");
});

// Formulas are copied as they were written.
document.addEventListener("copy", (event) => {
  const chosen = getSelection();
  if (!chosen.rangeCount || event.target.closest?.("input, textarea")) return;
  const piece = chosen.getRangeAt(0).cloneContents();
  const formulas = piece.querySelectorAll("math");
  if (!formulas.length) return;
  for (const formula of formulas) {
    const source = find("annotation", formula)?.textContent ?? formula.textContent;
    const mark = formula.getAttribute("display") === "block" ? "$$" : "$";
    formula.replaceWith(`${mark}${source}${mark}`);
  }
  event.clipboardData.setData("text/plain", piece.textContent);
  event.preventDefault();
});
