// The page itself: its elements, and forms sent to the server as the person on it.
export const body = document.body;

export const find = (selector, root = document) => root.querySelector(selector);

const form = (fields) => new URLSearchParams({ ...fields, csrfmiddlewaretoken: body.dataset.csrf });

export const post = (url, fields) => fetch(url, { method: "POST", body: form(fields), keepalive: true });

// Arrives even when the page is about to go.
export const postLast = (url, fields) => navigator.sendBeacon(url, form(fields));
