// A form that comes back from the server keeps what was typed into it, also the keys that the server never
// sends and what was typed while it was away; only what is said about the fields is new.
const fields = (form) => form.querySelectorAll(":is(input, select, textarea)[id]");
let kept = null;

document.addEventListener("htmx:beforeSwap", (event) => {
  const form = event.detail.target;
  kept = null;
  if (!form?.matches?.("form[data-keeps]")) return;
  kept = {
    id: form.id,
    values: new Map([...fields(form)].map(({ id, value, checked }) => [id, { value, checked }])),
    open: [...form.querySelectorAll("details[open][id]")].map(({ id }) => id),
  };
});

// Before anything leads the focus to a field that is wrong.
document.addEventListener("htmx:afterSwap", () => {
  const form = kept && document.getElementById(kept.id);
  if (!form) return;
  for (const field of fields(form)) Object.assign(field, kept.values.get(field.id));
  for (const id of kept.open) document.getElementById(id)?.setAttribute("open", "");
  kept = null;
}, true);
