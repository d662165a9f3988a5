/** How Vite builds the page: one document, and scripts and styles whose names carry a hash, into dist/site/. */
import type { UserConfig } from 'vite';
import { compiledRecords } from './compiled-records.js';

export default {
  base: './',
  build: {
    outDir: '../dist/site',
    emptyOutDir: true,
    target: 'es2022',
    assetsDir: 'assets',
    // The Content-Security-Policy allows no data: address for scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: 'manifest.json',
    reportCompressedSize: false,
  },
  worker: { format: 'es', plugins: () => [compiledRecords] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
} satisfies UserConfig;
