import { svelte, vitePreprocess } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// The page lies in the package, beside the server that gives it; all addresses in it are relative, so that an exported
// page works in any folder. While developing, `npm run dev` takes data from a server on HEADATLAS_PORT.
const port = process.env.HEADATLAS_PORT ?? "8765";

export default defineConfig({
  base: "./",
  plugins: [svelte({ preprocess: vitePreprocess() })],
  build: {
    outDir: process.env.HEADATLAS_STATIC ?? "../src/headatlas/web/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  test: { testTimeout: 60_000 }, // machines that test are busy
  server: { host: "127.0.0.1", proxy: { "/api": { target: `http://127.0.0.1:${port}`, changeOrigin: true } } },
});
