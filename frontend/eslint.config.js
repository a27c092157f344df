import js from "@eslint/js";
import prettier from "eslint-config-prettier";
import svelte from "eslint-plugin-svelte";
import { defineConfig, globalIgnores } from "eslint/config";
import globals from "globals";
import ts from "typescript-eslint";

export default defineConfig(
  globalIgnores(["src/generated/"], "written by the build"),
  js.configs.recommended,
  ts.configs.recommended,
  svelte.configs.recommended,
  prettier,
  svelte.configs.prettier,
  { languageOptions: { globals: globals.browser } },
  { files: ["*.config.{js,ts}"], languageOptions: { globals: globals.node } },
  { files: ["**/*.svelte", "**/*.svelte.ts"], languageOptions: { parserOptions: { parser: ts.parser } } },
  {
    rules: {
      // Text of datasets contains control characters, and the page has to find them.
      "no-control-regex": "off",
      // Maps and sets here are local accumulators or caches; reactive state is replaced as a whole, never mutated.
      "svelte/prefer-svelte-reactivity": "off",
    },
  },
);
