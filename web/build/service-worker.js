// Keeps the files of the page, so that it works without its server after the first visit. The
// build sets FILES and VERSION. Files with a hash in their name never change and come from the
// cache. The page itself comes from the server as long as there is one.

/* global FILES, VERSION */

const PREFIX = 'dedupstore-';
const CACHE = PREFIX + VERSION;
const PAGE = new URL('./', location.href).href;
const ADDRESSES = new Set(FILES.map((file) => new URL(file, location.href).href));

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll([PAGE, ...ADDRESSES])));
});

self.addEventListener('activate', (event) => {
  event.waitUntil(deleteOtherVersions().then(() => self.clients.claim()));
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.mode === 'navigate') {
    // Another program may use the same port later: only the server knows what to show.
    event.respondWith(fetch(request).catch(() => cached(PAGE)));
  } else if (ADDRESSES.has(request.url)) {
    event.respondWith(cached(request.url));
  }
});

async function cached(address) {
  const found = await caches.match(address, { ignoreVary: true });
  return found ?? fetch(address);
}

async function deleteOtherVersions() {
  const names = await caches.keys();
  const others = names.filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  await Promise.all(others.map((name) => caches.delete(name)));
}
