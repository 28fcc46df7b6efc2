// How the page is built: into dist/web, where the daemon finds it. Nothing of it is fetched from anywhere else, and nothing is put
// into the document itself: the policy that it is served with (src/gateway/page.ts) allows no inline script or style.

import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  base: "/",
  build: {
    outDir: "../dist/web",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
