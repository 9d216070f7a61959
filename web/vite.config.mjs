import { defineConfig } from 'vite';
import { compressedCopies, serviceWorker } from './build/plugins.mjs';

export default defineConfig({
  // Relative addresses: the page works in any directory of a server.
  base: './',
  plugins: [serviceWorker(), compressedCopies()],
  build: {
    target: 'es2023',
    // The engines stay separate files, loaded when they are needed.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
});
