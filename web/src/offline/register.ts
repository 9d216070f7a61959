// Keeps the page for use without its server, once the first visit has shown its results.

/** The first visit is not slowed down by files that it does not need. */
const DELAY_MILLISECONDS = 1000;

export function keepForOfflineUse(): void {
  // Missing in insecure contexts. The development server has no service worker.
  if (import.meta.env.PROD && 'serviceWorker' in navigator) {
    setTimeout(() => {
      // Without it the page works as long as its server.
      navigator.serviceWorker.register('./service-worker.js').catch(() => undefined);
    }, DELAY_MILLISECONDS);
  }
}
