// What the browser keeps for the page. Where it keeps nothing, nothing breaks: access itself may be refused.
const attempt = (use) => {
  try {
    return use();
  } catch {
    return null;
  }
};

export const recall = (key) => attempt(() => localStorage.getItem(key));
export const keep = (key, text) => attempt(() => localStorage.setItem(key, text));
export const drop = (key) => attempt(() => localStorage.removeItem(key));

// From one page of a tab to the next, for a moment: a later one is not the page that it was meant for.
const MOMENT = 10_000;

export const carry = (text) =>
  attempt(() => sessionStorage.setItem("carried", JSON.stringify({ text, at: Date.now() })));

export const carried = () =>
  attempt(() => {
    const { text, at } = JSON.parse(sessionStorage.getItem("carried"));
    sessionStorage.removeItem("carried");
    return Date.now() - at < MOMENT ? text : "";
  }) ?? "";
