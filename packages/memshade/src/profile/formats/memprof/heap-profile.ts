import type { HeapProfile, MibColumns, ProfileModule, ResolvedFrame } from "../../model/heap-profile.ts";
import { HeapProfileBuilder } from "../../model/heap-profile-builder.ts";
import {
  blockColumn,
  frameAt,
  type MemprofBlocks,
  type MemprofProfile,
  type MemprofStacks,
  unresolvedName,
  unresolvedPlace,
} from "../../model/memprof/index.ts";
import { MIB_FIELDS } from "../../model/mib-fields.ts";

export interface HeapProfileOptions {
  readonly version: number;
  readonly program?: string | undefined;
  readonly modules?: readonly ProfileModule[];
  readonly notTracked: readonly string[];
  readonly demangle: (name: string) => string;
  /** Finds the name and the first line of a GUID's function, for frames without a name. */
  readonly functionOf?: (guid: bigint) => KnownFunction | undefined;
}

export interface KnownFunction {
  readonly name: string;
  readonly file?: string | undefined;
  readonly startLine: number;
}

/**
 * Builds the report tables of a merged profile. Every block becomes one context; the sites of its inline chain are not
 * repeated. Times are milliseconds, as MemProf defines them.
 */
export function heapProfileFromMemprof(profile: MemprofProfile, options: HeapProfileOptions): HeapProfile {
  const { records, blocks } = profile;
  const unknownFields = MIB_FIELDS.filter((field) => !blocks.fields.includes(field)).map(({ name }) => name);
  const isCompact = unknownFields.includes("totalAccessCount");
  const notTracked = [
    ...options.notTracked,
    ...(isCompact
      ? [
          "This profile has only the fields that the compiler needs: numbers of accesses, and smallest and largest values, " +
            "are not known.",
        ]
      : []),
    "Peak and leaks are not known: MemProf does not record them.",
  ];
  const builder = new HeapProfileBuilder(
    {
      program: options.program,
      clock: { kind: "wall", unit: "ms" },
      granuleBytes: 8,
      rawVersion: options.version,
      notTracked,
      unknownFields: unknownFields.length === 0 ? undefined : unknownFields,
    },
    options.modules ?? [],
    profile.stacks.length,
  );
  const frames = Array.from({ length: profile.frames.length }, (_, index) =>
    resolve(frameAt(profile.frames, index), options),
  );
  /** Stack plus 1, by block. */
  const stackOf = new Uint32Array(blocks.length);
  const { allocBlock, allocStack } = records;
  for (let site = 0; site < allocBlock.length; site++)
    if (stackOf[allocBlock[site]!] === 0) stackOf[allocBlock[site]!] = allocStack[site]! + 1;
  const copies = copyStacks(profile.stacks, stackOf, (caller, frame) =>
    builder.child(caller, frames[frame]!),
  );
  const rows: number[] = [];
  for (const [block, stack] of stackOf.entries()) {
    if (stack === 0) continue;
    builder.addStack(BigInt(block + 1), copies[stack - 1]!);
    rows.push(block);
  }
  return builder.build(columnsOfBlocks(blocks, rows));
}

/**
 * Copies the stacks that blocks use. `child` creates a copy from the copy of the caller and a frame. @returns the copy
 * by stack
 */
function copyStacks(
  { length, parent, frame }: MemprofStacks,
  stackOfBlock: Uint32Array,
  child: (caller: number, frame: number) => number,
): Uint32Array {
  const isWanted = new Uint8Array(length);
  for (const stack of stackOfBlock) if (stack !== 0) isWanted[stack - 1] = 1;
  for (let stack = length - 1; stack > 0; stack--) if (isWanted[stack] === 1) isWanted[parent[stack]!] = 1;
  const copies = new Uint32Array(length);
  for (let stack = 1; stack < length; stack++)
    if (isWanted[stack] === 1) copies[stack] = child(copies[parent[stack]!]!, frame[stack]!);
  return copies;
}

function columnsOfBlocks(blocks: MemprofBlocks, rows: readonly number[]): MibColumns {
  const isAll = rows.length === blocks.length;
  const columns = MIB_FIELDS.map(({ name, bytes }) => {
    const column = blockColumn(blocks, name);
    if (column !== undefined && isAll) return [name, column];
    const picked = bytes === 4 ? new Uint32Array(rows.length) : new BigUint64Array(rows.length);
    if (column !== undefined) for (const [index, row] of rows.entries()) picked[index] = column[row]!;
    return [name, picked];
  });
  const histogram = rows.map((row) => {
    const values = blocks.histograms.get(row);
    return values === undefined ? undefined : [...values];
  });
  return { ...Object.fromEntries(columns), histogram } as MibColumns;
}

function resolve(
  { guid, name, file, line, lineOffset, column, inline }: ReturnType<typeof frameAt>,
  { demangle, functionOf }: HeapProfileOptions,
): ResolvedFrame {
  const knownFunction = name === undefined ? functionOf?.(guid) : undefined;
  const knownLine = knownFunction === undefined ? line : knownFunction.startLine + (lineOffset | 0);
  const startLine = knownLine === undefined || knownLine === 0 ? 0 : knownLine - (lineOffset | 0);
  return {
    name: knownFunction === undefined ? nameOf(name, guid, demangle) : demangle(knownFunction.name),
    offset: knownFunction === undefined && name === undefined ? lineOffset : 0,
    file: file ?? knownFunction?.file,
    line: knownLine,
    startLine: Math.max(0, startLine),
    column,
    inlined: inline,
  };
}

/** Digits of a build id that suffice to distinguish modules. */
const SHORT_ID_DIGITS = 8;

function nameOf(name: string | undefined, guid: bigint, demangle: (name: string) => string): string {
  const place = unresolvedPlace(name);
  if (place !== undefined)
    return unresolvedName({ ...place, buildId: place.buildId.slice(0, SHORT_ID_DIGITS) });
  return demangle(name ?? `GUID 0x${guid.toString(16)}`);
}
