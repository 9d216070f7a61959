import { defineConfig } from 'vite';

export default defineConfig({
  // Relative addresses, so that the page works from any folder of any server.
  base: './',
  build: {
    target: 'es2023',
    // The sample and the engine stay files of their own, loaded when they are wanted.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
  server: {
    // The sample lies beside this folder, where the other tests use it too.
    fs: { allow: ['..'] },
  },
});
