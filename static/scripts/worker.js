// The service worker, which shows a page of its own when the server is away.
import { body } from "./page.js";

if ("serviceWorker" in navigator && isSecureContext) {
  navigator.serviceWorker.register(body.dataset.worker).catch(() => {});
}
