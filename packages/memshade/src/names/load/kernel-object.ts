import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { type ObjectFile, openObject } from "../../code/objects/index.ts";
import { FormatError } from "../../ground/bytes/errors.ts";

const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) .*\[vdso\]$/m;

/**
 * Returns the object that the kernel maps into every process (vDSO), read from this process, since it has no
 * file. A signal may interrupt a program that reads the clock in it. Undefined if there is none.
 */
export function kernelObject(): ObjectFile | undefined {
  try {
    const [, start, end] = MAPPING.exec(readFileSync("/proc/self/maps", "latin1")) ?? [];
    if (start === undefined || end === undefined) return undefined;
    const from = Number.parseInt(start, 16);
    const bytes = new Uint8Array(Number.parseInt(end, 16) - from);
    const memory = openSync("/proc/self/mem", "r");
    try {
      readSync(memory, bytes, 0, bytes.length, from);
    } finally {
      closeSync(memory);
    }
    return openObject(bytes);
  } catch (error) {
    if (error instanceof FormatError || (error as NodeJS.ErrnoException).code !== undefined) return undefined;
    throw error;
  }
}
