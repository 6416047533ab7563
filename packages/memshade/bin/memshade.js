#!/usr/bin/env node
const { argv, versions } = process;
const [major, minor] = versions.node.split(".").map(Number);
// Several memories in one module came with 22.15.
if (major > 22 || (major === 22 && minor >= 15)) {
  if (!(await runQuickly(argv[2], argv.slice(3)))) await import("../dist/bundle/main.js");
} else {
  process.stderr.write(`memshade: Node 22.15 or newer is needed, this is ${versions.node}\n`);
  process.exitCode = 2;
}

// Tools start `symbolize` for a single address, and most of what `unwind` is asked takes less time than loading everything.
// Node keeps what it compiled of the one file in its own cache (the folder node-compile-cache of the system's temporary files,
// unless NODE_COMPILE_CACHE or NODE_DISABLE_COMPILE_CACHE is set).
function runQuickly(verb, args) {
  if (verb !== "symbolize" && verb !== "unwind") return false;
  const { createRequire, enableCompileCache } = process.getBuiltinModule("node:module");
  enableCompileCache();
  const quick = createRequire(import.meta.url)(`../dist/bundle/quick-${verb}.cjs`);
  return verb === "symbolize" ? quick.symbolizeQuickly(args) : quick.unwindQuickly(args);
}
