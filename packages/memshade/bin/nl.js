#!/usr/bin/env node
"use strict";
const [major, minor] = process.versions.node.split(".").map(Number);
// Several memories in one module came with 22.15.
if (major > 22 || (major === 22 && minor >= 15)) run(process.argv[2], process.argv.slice(3));
else {
  process.stderr.write(`memshade: Node 22.15 or newer is needed, this is ${process.versions.node}\n`);
  process.exitCode = 2;
}

// Tools start `symbolize` for a single address, and most of what `unwind` is asked takes less time than loading everything.
async function run(verb, args) {
  if (!(await runQuickly(verb, args))) await import("../dist/bundle/main.js");
}

function runQuickly(verb, args) {
  if (verb !== "symbolize" && verb !== "unwind") return false;
  const { enableCompileCache, getCompileCacheDir } = require("node:module");
  enableCompileCache();
  if (verb === "unwind") return withAllFunctions("../dist/bundle/quick-unwind.cjs").unwindQuickly(args);
  // What is read of the two has little in common.
  const kind = args.some((argument) => argument.endsWith(".wasm")) ? "wasm" : "native";
  const { exports, keepCode } = load(
    `${__dirname}/../dist/bundle/quick-symbolize.cjs`,
    kind,
    getCompileCacheDir(),
  );
  const isDone = exports.symbolizeQuickly(args);
  keepCode();
  // All has been written: what the engine would do at its end is left to the system.
  if (isDone) process.exit();
  return false;
}

/**
 * Loads a file with the code that the engine made of it when it ran before. Node keeps such code too, in the same folder (the
 * folder node-compile-cache of the system's temporary files, unless NODE_COMPILE_CACHE or NODE_DISABLE_COMPILE_CACHE is set), but
 * as it is before the file runs: that of few functions.
 *
 * @param kind of work, each with code of its own
 * @param folder for code of this engine with these flags
 */
function load(file, kind, folder) {
  const { closeSync, openSync, readFileSync, renameSync, writeSync } = require("node:fs");
  const { Script } = require("node:vm");
  const source = readFileSync(file, "utf8");
  // Builds put a hash of the rest in front.
  const place = `${folder}/memshade-${source.slice(2, source.indexOf("\n"))}-${kind}`;
  let cachedData;
  try {
    if (folder !== undefined) cachedData = readFileSync(place);
  } catch {
    // It is made below.
  }
  const text = `(function(exports,require,module,__filename){${source}\n})`;
  const script = new Script(text, { filename: file, cachedData });
  const module = { exports: {} };
  script.runInThisContext()(module.exports, require, module, file);
  const keepCode = () => {
    if (folder === undefined || cachedData !== undefined) return;
    try {
      const unfinished = `${place}-${process.pid}`;
      const descriptor = openSync(unfinished, "wx", 0o600);
      module.exports.restoreEngine();
      writeSync(descriptor, script.createCachedData());
      closeSync(descriptor);
      renameSync(unfinished, place);
    } catch {
      // Then it takes longer, each time.
    }
  };
  return { exports: module.exports, keepCode };
}

/**
 * Loads a file and compiles all of its functions, which Node keeps too then. `unwind` calls so many of them that to compile
 * each when it is called costs more, in every run anew.
 */
function withAllFunctions(file) {
  const { setFlagsFromString } = require("node:v8");
  setFlagsFromString("--no-lazy");
  const exports = require(file);
  setFlagsFromString("--lazy");
  return exports;
}
