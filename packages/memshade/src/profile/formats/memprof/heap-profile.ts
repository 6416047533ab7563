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
  /** Of the raw or indexed format that the profile comes from. */
  readonly version: number;
  readonly program?: string | undefined;
  readonly modules?: readonly ProfileModule[];
  readonly notTracked: readonly string[];
  readonly demangle: (name: string) => string;
  /** Finds the function of a GUID for frames without a name, and where it begins. */
  readonly functionOf?: (guid: bigint) => KnownFunction | undefined;
}

/** A function as debug information knows it. */
export interface KnownFunction {
  readonly name: string;
  readonly file?: string | undefined;
  readonly startLine: number;
}

/**
 * The tables of a merged profile, for reports. Every block is one context, the sites of its inline chain are not
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
          "This profile has no more than the compiler needs: numbers of accesses, and smallest and largest values, " +
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
  /** By block: its stack plus 1. */
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

/** By stack: its copy, where a block has it. `child` makes one, of the copy of its caller and a frame. */
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

/** The blocks of some rows; without a copy, if these are all. */
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
  const known = name === undefined ? functionOf?.(guid) : undefined;
  const knownLine = known === undefined ? line : known.startLine + (lineOffset | 0);
  const startLine = knownLine === undefined || knownLine === 0 ? 0 : knownLine - (lineOffset | 0);
  return {
    name: known === undefined ? nameOf(name, guid, demangle) : demangle(known.name),
    offset: known === undefined && name === undefined ? lineOffset : 0,
    file: file ?? known?.file,
    line: knownLine,
    startLine: Math.max(0, startLine),
    column,
    inlined: inline,
  };
}

/** So many digits of a build id tell modules apart. */
const SHORT_ID_DIGITS = 8;

function nameOf(name: string | undefined, guid: bigint, demangle: (name: string) => string): string {
  const place = unresolvedPlace(name);
  if (place !== undefined)
    return unresolvedName({ ...place, buildId: place.buildId.slice(0, SHORT_ID_DIGITS) });
  return demangle(name ?? `GUID 0x${guid.toString(16)}`);
}
