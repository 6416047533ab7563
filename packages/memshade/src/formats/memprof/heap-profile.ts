import type { HeapProfile, ProfileModule, ResolvedFrame } from "../../model/heap-profile.ts";
import { HeapProfileBuilder } from "../../model/heap-profile-builder.ts";
import { frameAt, framesOfStack, type MemprofProfile } from "../../model/memprof/index.ts";
import { MIB_FIELDS, zeroMib } from "../../model/mib-fields.ts";

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
  );
  const frames = Array.from({ length: profile.frames.length }, (_, index) =>
    resolve(frameAt(profile.frames, index), options),
  );
  const isSeen = new Uint8Array(blocks.length);
  for (const [site, block] of records.allocBlock.entries()) {
    if (isSeen[block] === 1) continue;
    isSeen[block] = 1;
    const stack = framesOfStack(profile.stacks, records.allocStack[site]!).map((frame) => frames[frame]!);
    builder.addContext(BigInt(block + 1), stack, mibOf(profile, block));
  }
  return builder.build();
}

function resolve(
  { guid, name, file, line, lineOffset, column, inline }: ReturnType<typeof frameAt>,
  { demangle, functionOf }: HeapProfileOptions,
): ResolvedFrame {
  const known = name === undefined ? functionOf?.(guid) : undefined;
  const knownLine = known === undefined ? line : known.startLine + (lineOffset | 0);
  return {
    name: known !== undefined ? demangle(known.name) : demangle(name ?? `GUID 0x${guid.toString(16)}`),
    offset: known === undefined && name === undefined ? lineOffset : 0,
    file: file ?? known?.file,
    line: knownLine,
    column,
    inlined: inline,
  };
}

function mibOf({ blocks }: MemprofProfile, row: number) {
  const mib = zeroMib();
  for (const [index, field] of blocks.fields.entries()) {
    const value = blocks.columns[index]![row]!;
    if (field.bytes === 4) mib[field.name] = Number(value);
    else mib[field.name] = BigInt(value);
  }
  const histogram = blocks.histograms.get(row);
  return histogram === undefined ? mib : { ...mib, histogram: [...histogram] };
}
