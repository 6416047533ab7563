import { closeSync, openSync, readSync, statSync } from "node:fs";

const SCRIPT_NAME = /\.[cm]?[jt]s$/;

/** The command that runs a file: `run` for what is a WebAssembly module or called one, `node` for a script; undefined for everything else. */
export function verbFor(file: string): "run" | "node" | undefined {
  // Reading a pipe would take what it holds.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  if (file.endsWith(".wasm") || startOf(file) === "\0asm") return "run";
  return SCRIPT_NAME.test(file) ? "node" : undefined;
}

/** Beginnings of core dumps, minidumps and perf.data, and of gzip and zstd, in which no other profile comes. */
const STACK_FILES = ["\x7fELF", "MDMP", "PERF", "\x1f\x8b", "\x28\xb5\x2f\xfd"];

/** Whether a file holds stacks of a native program, as `memshade unwind` reads them. */
export function hasNativeStacks(file: string): boolean {
  if (file === "-") return true;
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const start = startOf(file);
  return STACK_FILES.some((magic) => start.startsWith(magic));
}

function startOf(file: string): string {
  const start = new Uint8Array(4);
  try {
    const descriptor = openSync(file, "r");
    readSync(descriptor, start);
    closeSync(descriptor);
  } catch {
    // Whoever reads it in earnest says what is the matter.
  }
  return String.fromCharCode(...start);
}
