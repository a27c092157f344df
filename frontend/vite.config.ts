import { svelte, vitePreprocess } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { PREFIX } from "./src/generated/paths";

// The built page is part of the Python package. Its addresses are relative, so that an exported page works in any folder.
// During development, `npm run dev` gets data from a server on HEADATLAS_PORT.
const port = process.env.HEADATLAS_PORT ?? "8765";

const outDir = process.env.HEADATLAS_STATIC ?? "../src/headatlas/web/static";

// `--mode single` builds the page once more as one script and one style sheet, which headatlas.web.single puts into a
// single file.
const single = {
  outDir: `${outDir}/single`,
  copyPublicDir: false,
  cssCodeSplit: false,
  rolldownOptions: {
    input: "src/main.ts",
    output: { codeSplitting: false, entryFileNames: "page.js", assetFileNames: "page[extname]" },
  },
};

export default defineConfig(({ mode }) => ({
  base: "./",
  plugins: [svelte({ preprocess: vitePreprocess() })],
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    ...(mode === "single" ? single : {}),
  },
  test: { testTimeout: 60_000 }, // CI machines are slow
  server: { host: "127.0.0.1", proxy: { [`/${PREFIX}`]: { target: `http://127.0.0.1:${port}`, changeOrigin: true } } },
}));
