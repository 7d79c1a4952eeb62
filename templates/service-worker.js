// Keeps one page and its style for when the server is away. Nothing personal is ever stored.
const EDITION = "oneclaw-{{ edition }}";
const KEPT = [{ % for address in kept % }
  "{{ address|escapejs }}" { % if not forloop.last % }, { % endif % } { % endfor % }
];
self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(EDITION).then((cache) => cache.addAll(KEPT)).then(() => self
.skipWaiting()));
});
self.addEventListener("activate", (event) => {
  const old = (names) => Promise.all(names.filter((name) => name !== EDITION).map((name) => caches.delete(
    name)));
  event.waitUntil(caches.keys().then(old).then(() => self.clients.claim()));
});
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode === "navigate") {
    event.respondWith(fetch(request).catch(() => caches.match(KEPT[0])));
  } else if (request.method === "GET" && KEPT.includes(new URL(request.url).pathname)) {
    event.respondWith(fetch(request).catch(() => caches.match(request)));
  }
});
