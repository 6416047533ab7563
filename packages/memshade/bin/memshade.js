#!/usr/bin/env node
"use strict";
const { version } = require("../package.json");
const [major, minor] = process.versions.node.split(".").map(Number);
const isVersionAsked = process.argv.length === 3 && ["-V", "--version"].includes(process.argv[2]);
// Several memories in one module came with 22.15.
if (major < 22 || (major === 22 && minor < 15)) {
  process.stderr.write(`memshade: Node 22.15 or newer is needed, this is ${process.versions.node}\n`);
  process.exitCode = 2;
} else if (isVersionAsked) {
  process.stdout.write(`${version}\n`);
} else {
  require("node:module").enableCompileCache();
  import("../dist/main.js");
}
