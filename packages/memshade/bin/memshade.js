#!/usr/bin/env node
"use strict";
const { version } = require("../package.json");
// Clients such as Playwright start it in the place of a browser: docs/guides/playwright-tests.md.
const [, , ...args] = process.argv;
if (args[0]?.startsWith("--") && args.some((arg) => arg.startsWith("--remote-debugging-"))) {
  const { MEMSHADE_CHROMIUM, MEMSHADE_OUT, MEMSHADE_TOOLS } = process.env;
  const options = ["browser", "--as-browser"];
  if (MEMSHADE_OUT) options.push("--out", MEMSHADE_OUT);
  if (MEMSHADE_TOOLS) options.push("--tool", MEMSHADE_TOOLS);
  process.argv.splice(2, args.length, ...options, "--", MEMSHADE_CHROMIUM || "chromium", ...args);
}
if (process.argv.length === 3 && ["-V", "--version"].includes(process.argv[2])) {
  process.stdout.write(`${version}\n`);
} else {
  // Older versions of Node have no such cache; they start a newer one.
  require("node:module").enableCompileCache?.();
  import("../dist/main.js");
}
