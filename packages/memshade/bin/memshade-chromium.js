#!/usr/bin/env node
"use strict";
// Stands in for Chromium under clients that start it, such as Playwright: docs/guides/playwright-tests.md.
const { join } = require("node:path");

const { MEMSHADE_CHROMIUM, MEMSHADE_OUT, MEMSHADE_TOOLS } = process.env;
const options = ["browser", "--as-browser"];
if (MEMSHADE_OUT) options.push("--out", MEMSHADE_OUT);
if (MEMSHADE_TOOLS) options.push("--tool", MEMSHADE_TOOLS);
const browser = MEMSHADE_CHROMIUM || "chromium";
process.argv = [
  process.argv[0],
  join(__dirname, "memshade.js"),
  ...options,
  "--",
  browser,
  ...process.argv.slice(2),
];
require("./memshade.js");
