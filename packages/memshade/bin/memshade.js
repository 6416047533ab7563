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
  if ((verb === "symbolize" && symbolize(args)) || (verb === "unwind" && (await unwind(args)))) {
    // All has been written: what the engine would do at its end is left to the system.
    process.exit();
  }
  await import("../dist/bundle/main.js");
}

function symbolize(args) {
  // What is read of the two has little in common.
  const kind = args.some((argument) => argument.endsWith(".wasm")) ? "wasm" : "native";
  const { exports, keepCode } = load("quick-symbolize.cjs", kind);
  const isDone = exports.symbolizeQuickly(args);
  keepCode();
  return isDone;
}

/** `unwind` calls so many functions that to compile each when it is called costs more, whatever was not called before. */
function unwind(args) {
  return load("quick-unwind.cjs", "all").exports.unwindQuickly(args);
}

/**
 * Loads a file of dist/bundle with the code that the engine made of it when it ran before. Node keeps such code too, in the
 * same folder (the folder node-compile-cache of the system's temporary files, unless NODE_COMPILE_CACHE or
 * NODE_DISABLE_COMPILE_CACHE is set), but as it is before the file runs: that of few functions.
 *
 * @param kind of work, each with code of its own; "all" has that of all functions, others that of those that ran before `keepCode`
 */
function load(name, kind) {
  const { createRequire, enableCompileCache, getCompileCacheDir } = require("node:module");
  const { readFileSync } = require("node:fs");
  const { Script } = require("node:vm");
  // Other files that are loaded later are left to Node.
  enableCompileCache();
  const folder = getCompileCacheDir();
  const filename = `${__dirname}/../dist/bundle/${name}`;
  const source = readFileSync(filename, "latin1");
  // Builds put a hash of the rest in front, and write it in ASCII.
  const place = `${folder}/memshade-${source.slice(2, source.indexOf("\n"))}-${kind}`;
  let cachedData;
  try {
    if (folder !== undefined) cachedData = readFileSync(place);
  } catch {
    // It is made below.
  }
  const text = `(function(exports,require,module,__filename){${source}\n})`;
  const isNew = folder !== undefined && cachedData === undefined;
  const compile = () => new Script(text, { filename, cachedData });
  const script = isNew && kind === "all" ? withAllFunctions(compile) : compile();
  // Of other flags, or damaged. It is made anew next time: the engine does not compile the same text twice.
  if (script.cachedDataRejected) remove(place);
  const module = { exports: {}, filename, id: filename, loaded: true };
  // What the file loads itself may ask for it.
  const requireFromThere = createRequire(filename);
  requireFromThere.cache[requireFromThere.resolve(filename)] = module;
  if (isNew && kind === "all") keep(script, place);
  script.runInThisContext()(module.exports, requireFromThere, module, filename);
  const keepCode = () => {
    if (!isNew) return;
    module.exports.restoreEngine();
    keep(script, place);
  };
  return { exports: module.exports, keepCode };
}

function remove(file) {
  try {
    require("node:fs").unlinkSync(file);
  } catch {
    // Somebody else did.
  }
}

function keep(script, place) {
  const { closeSync, openSync, renameSync, writeSync } = require("node:fs");
  try {
    const unfinished = `${place}-${process.pid}`;
    const descriptor = openSync(unfinished, "wx", 0o600);
    writeSync(descriptor, script.createCachedData());
    closeSync(descriptor);
    renameSync(unfinished, place);
  } catch {
    // Then it takes longer, each time.
  }
}

/** Lets the engine compile all functions of what is compiled meanwhile, not each when it is called first. */
function withAllFunctions(compile) {
  const { setFlagsFromString } = require("node:v8");
  setFlagsFromString("--no-lazy");
  const compiled = compile();
  setFlagsFromString("--lazy");
  return compiled;
}
