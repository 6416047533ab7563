import { closeSync, openSync, readSync, statSync } from "node:fs";

const SCRIPT_NAME = /\.[cm]?[jt]s$/;

/** The command that runs a file: `run` for what is a WebAssembly module or called one, `node` for a script; undefined for everything else. */
export function verbFor(file: string): "run" | "node" | undefined {
  // Reading a pipe would take what it holds.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  if (file.endsWith(".wasm") || startOf(file) === "\0asm") return "run";
  return SCRIPT_NAME.test(file) ? "node" : undefined;
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
