import { FormatError } from "../../../ground/bytes/errors.ts";
import { copyMib, type Mib, mergeMib } from "../../model/mib.ts";
import type { RawContext, RawDump, RawProfile, RawSegment } from "../../model/raw-profile.ts";
import { readRawDumps } from "./read.ts";

/**
 * Reads a raw profile, versions 3, 4 and 5, and merges its dumps (memprof-format, section 5).
 *
 * Contexts are in the order in which their stack ids first occur. The version is that of the last dump.
 *
 * @throws FormatError of kind bad-magic, truncated, unsupported-version or malformed
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { readRaw, writeRaw } from "memshade";
 *
 * assert.deepEqual(readRaw(writeRaw({ segments: [], contexts: [] })).contexts, []);
 * ```
 */
export function readRaw(bytes: Uint8Array): RawProfile {
  return mergeDumps(readRawDumps(bytes));
}

/** Merges the dumps of one process, in file order. At least one dump is needed. */
function mergeDumps(dumps: readonly RawDump[]): RawProfile {
  const first = dumps[0]!;
  const stacks = new Map<bigint, bigint[]>();
  const mibs = new Map<bigint, Mib>();
  for (const dump of dumps) {
    requireEqualSegments(first.segments, dump.segments, dump.fileOffset);
    for (const { stackId, pcs } of dump.stacks) {
      const existing = stacks.get(stackId);
      if (existing !== undefined && !haveEqualItems(existing, pcs)) throw differentStacks(dump.fileOffset);
      stacks.set(stackId, pcs);
    }
    for (const { stackId, mib } of dump.mibs) {
      const existing = mibs.get(stackId);
      if (existing === undefined) mibs.set(stackId, copyMib(mib));
      else mergeMib(existing, mib);
    }
  }
  const contexts = Array.from(mibs, ([stackId, mib]): RawContext => {
    const pcs = stacks.get(stackId);
    if (pcs === undefined) throw missingStack(stackId);
    return { stackId, mib, pcs };
  });
  return { version: dumps.at(-1)!.version, segments: first.segments, contexts };
}

export function requireEqualSegments(
  first: readonly RawSegment[],
  later: readonly RawSegment[],
  fileOffset: number,
): void {
  if (haveEqualSegments(first, later)) return;
  throw malformed(fileOffset, "segment section", "memprof raw profile has different segment information");
}

export function differentStacks(fileOffset: number): FormatError {
  return malformed(fileOffset, "stack section", "memprof raw profile got different call stack for same id");
}

export function missingStack(stackId: bigint): FormatError {
  return malformed(0, "MIB section", `memprof callstack record does not contain id: ${stackId}`);
}

/** Returns the error for a profile without call stacks, or without any symbolized frame. LLVM treats both alike. */
export function noStacksLeft(): FormatError {
  return malformed(0, "memprof raw profile", "no entries in callstack map after symbolization");
}

function malformed(offset: number, construct: string, detail: string): FormatError {
  return new FormatError("malformed", offset, construct, detail);
}

/** Returns true if dumps with these segments may come from one process. */
export function haveEqualSegments(a: readonly RawSegment[], b: readonly RawSegment[]): boolean {
  return (
    a.length === b.length &&
    a.every((segment, index) => {
      const other = b[index]!;
      return (
        segment.start === other.start &&
        segment.end === other.end &&
        segment.offset === other.offset &&
        haveEqualItems(segment.buildId, other.buildId)
      );
    })
  );
}

function haveEqualItems<T>(a: ArrayLike<T>, b: ArrayLike<T>): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}
