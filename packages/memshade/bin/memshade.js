#!/usr/bin/env node
"use strict";
const { version } = require("../package.json");
if (process.argv.length === 3 && ["-V", "--version"].includes(process.argv[2])) {
  process.stdout.write(`${version}\n`);
} else {
  // Older versions of Node have no such cache; they start a newer one.
  require("node:module").enableCompileCache?.();
  import("../dist/main.js");
}
