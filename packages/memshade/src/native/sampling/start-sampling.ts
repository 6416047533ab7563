import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { loadObject } from "../../load/objects.ts";
import { type ObjectFile, openObject } from "../../objects/index.ts";

const NS_PER_SECOND = 1e9;
const VDSO_LINE = /^([0-9a-f]+)-([0-9a-f]+) .*\[vdso\]$/m;

/** CPU time from one sample to the next, ns. */
export function samplePeriod(hz: number): number {
  return Math.round(NS_PER_SECOND / hz);
}

/** What a sample may interrupt and no program needs by name: memshade's code inside of it, and the kernel's part of each process. */
export function objectsOfSampling(image: string): ObjectFile[] {
  const vdso = kernelObject();
  return [loadObject(image).object, ...(vdso === undefined ? [] : [vdso])];
}

/** The object that the kernel maps into all processes alike, as this one has it; undefined where it has none. */
function kernelObject(): ObjectFile | undefined {
  try {
    const [, from, to] = VDSO_LINE.exec(readFileSync("/proc/self/maps", "utf8")) ?? [];
    if (from === undefined || to === undefined) return undefined;
    const [start, end] = [Number.parseInt(from, 16), Number.parseInt(to, 16)];
    const bytes = Buffer.alloc(end - start);
    const memory = openSync("/proc/self/mem", "r");
    try {
      readSync(memory, bytes, 0, bytes.length, start);
    } finally {
      closeSync(memory);
    }
    return openObject(bytes);
  } catch {
    // Stacks end there.
    return undefined;
  }
}
