import { closeSync, readSync, statSync } from "node:fs";
import { openRegular } from "../names/load/file.ts";

const SCRIPT_NAME = /\.[cm]?[jt]s$/;

/**
 * True if a file or a name in PATH is neither a WebAssembly module nor a Node script, so it may be a native
 * program.
 */
export function isNativeProgram(name: string): boolean {
  if (statSync(name, { throwIfNoEntry: false })?.isFile() !== true)
    return !/\/|^\.\.?$/.test(name) && !name.endsWith(".wasm") && !SCRIPT_NAME.test(name);
  return verbFor(name) === undefined;
}

/**
 * Returns the command that runs a file: `run` for a WebAssembly module (by content or name), `node` for a
 * script; otherwise undefined.
 */
export function verbFor(file: string): "run" | "node" | undefined {
  // A read from a pipe would consume its content.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  if (file.endsWith(".wasm") || isModule(file)) return "run";
  return SCRIPT_NAME.test(file) ? "node" : undefined;
}

/** True if a regular file begins as a WebAssembly module does. */
export function isModule(file: string): boolean {
  return startOf(file) === "\0asm";
}

const STACK_FILES = ["\x7fELF", "MDMP", "PERF"];
/** Most bytes that are decompressed. For a larger result, fewer of the compressed bytes are read. */
const MOST_UNPACKED = 2 ** 26;
const FIRST_BYTES = 2 ** 8;
/** Compressed bytes that surely contain the start of the file: a block of zstd has up to 128 KiB. */
const PACKED_START = 2 ** 18;

/**
 * True if a file holds stacks of a native program that `memshade unwind` reads; gzip and zstd are supported.
 */
export function hasNativeStacks(file: string): boolean {
  if (file === "-") return true;
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const start = startOf(file);
  const isPacked = start.startsWith("\x1f\x8b") || start === "\x28\xb5\x2f\xfd";
  const content = isPacked ? unpackedStart(start, bytesOf(file, PACKED_START)) : start;
  return STACK_FILES.some((magic) => content.startsWith(magic));
}

function unpackedStart(start: string, bytes: Uint8Array): string {
  const { constants, gunzipSync, zstdDecompressSync } = process.getBuiltinModule("node:zlib");
  const maxOutputLength = MOST_UNPACKED;
  try {
    const content = start.startsWith("\x1f\x8b")
      ? gunzipSync(bytes, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH })
      : zstdDecompressSync(bytes, { maxOutputLength, finishFlush: constants.ZSTD_e_flush });
    return content.toString("latin1", 0, 4);
  } catch (error) {
    const isTooLarge = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    if (isTooLarge && bytes.length > FIRST_BYTES) return unpackedStart(start, bytes.subarray(0, FIRST_BYTES));
    // The reader of the whole file reports the error.
    return "";
  }
}

function startOf(file: string): string {
  return String.fromCharCode(...bytesOf(file, 4));
}

/** Returns the first bytes of a file; the rest is zero if the file is shorter. */
function bytesOf(file: string, length: number): Uint8Array {
  const start = new Uint8Array(length);
  try {
    const descriptor = openRegular(file);
    try {
      readSync(descriptor, start);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // The reader of the whole file reports the error.
  }
  return start;
}
