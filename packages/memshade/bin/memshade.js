#!/usr/bin/env node
// Several memories in one module came with 22.15.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major > 22 || (major === 22 && minor >= 15)) await import("../dist/bundle/main.js");
else {
  process.stderr.write(`memshade: Node 22.15 or newer is needed, this is ${process.versions.node}\n`);
  process.exitCode = 2;
}
