// A search box narrows the list it names to the rows that hold every word; what is ticked stays ticked.
const narrow = (box) => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...document.getElementById(box.dataset.filters).children];
  let shown = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    const fits = words.every((word) => text.includes(word));
    row.hidden = !fits;
    shown += fits;
  }
  const status = box.parentElement.querySelector("[role='status']");
  status.textContent = words.length ? `${shown || "No"} of ${rows.length} match` : "";
};

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-filters]")) narrow(event.target);
});

// The box stands in a form that Enter would send.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches("[data-filters]")) event.preventDefault();
});
