// A temporary chat is deleted when its last page is gone: this one says when it goes, and when it is back.
import { find, post, postLast } from "./page.js";

const { leave, page, home } = find(".temporary-banner")?.dataset ?? {};

const back = async () => {
  const answer = await post(leave, { page, back: 1 });
  if (!answer.ok) location.assign(home);
};

if (leave) {
  addEventListener("pagehide", () => postLast(leave, { page }));
  addEventListener("pageshow", (event) => event.persisted && back());
}
