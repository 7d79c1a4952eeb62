// Keeps one page and its style for when the server is away. Nothing personal is ever stored.
const EDITION = "oneclaw-{{ edition }}";
const KEPT = "{{ kept|join:' '|escapejs }}".split(" ");

const keep = async () => {
  const cache = await caches.open(EDITION);
  await cache.addAll(KEPT);
  await self.skipWaiting();
};

const dropOthers = async () => {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== EDITION).map((name) => caches.delete(name)));
  await self.clients.claim();
};

self.addEventListener("install", (event) => event.waitUntil(keep()));
self.addEventListener("activate", (event) => event.waitUntil(dropOthers()));

// A notification leads to the chat it tells of, in the tab that shows it if there is one.
const lead = async (url) => {
  const pages = await self.clients.matchAll({ type: "window" });
  const open = pages.find((page) => page.url === url);
  return open ? open.focus() : self.clients.openWindow(url);
};

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(lead(event.notification.data.url));
});
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode === "navigate") {
    event.respondWith(fetch(request).catch(() => caches.match(KEPT[0])));
  } else if (request.method === "GET" && KEPT.includes(new URL(request.url).pathname)) {
    event.respondWith(fetch(request).catch(() => caches.match(request)));
  }
});
