// What the browser keeps for the page. Where it keeps nothing, nothing breaks: access itself may be refused.
const attempt = (use) => {
  try {
    return use(localStorage);
  } catch {
    return null;
  }
};

export const recall = (key) => attempt((kept) => kept.getItem(key));
export const keep = (key, text) => attempt((kept) => kept.setItem(key, text));
export const drop = (key) => attempt((kept) => kept.removeItem(key));
