// Files that are pasted or dropped anywhere on a chat's page go to its composer.
import { composer, list, take } from "./attaching.js";

// What was copied as text and picture both is meant as text.
document.addEventListener("paste", (event) => {
  const { files, types } = event.clipboardData;
  if (!list() || !files.length || types.includes("text/plain")) return;
  if (event.target.closest("dialog, .message.edit, #side")) return;
  event.preventDefault();
  take([...files]);
});

const brings = (event) => list() && event.dataTransfer?.types.includes("Files");
const dropping = (on) => composer()?.classList.toggle("dropping", on);

document.addEventListener("dragover", (event) => {
  if (!brings(event)) return;
  event.preventDefault();
  dropping(true);
});

document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) dropping(false);
});

document.addEventListener("drop", (event) => {
  if (!brings(event)) return;
  event.preventDefault();
  dropping(false);
  take([...event.dataTransfer.files]);
});
