import { FormatError } from "../../../ground/bytes/errors.ts";
import { counted, groupDigits } from "../../model/counted.ts";
import type { HeapProfile, ResolvedFrame } from "../../model/heap-profile.ts";
import {
  assertHolds,
  type ImportedBlocks,
  type ImportedContext,
  importedHeapProfile,
  type PlaceNames,
} from "../../model/imported-heap.ts";
import { FrameModules } from "../frame-modules.ts";
import { type DecodedPprof, type DecodedSample, decodePprof } from "./decode.ts";

const CONSTRUCT = "pprof profile";

/** What the values of heap profiles are called: by Go and others, by allocators that only know what is live. */
const COLUMNS: {
  readonly [What in "allocated" | "live" | "peak"]: {
    readonly [Of in keyof ImportedBlocks]: readonly string[];
  };
} = {
  allocated: { blocks: ["alloc_objects"], bytes: ["alloc_space"] },
  live: { blocks: ["inuse_objects", "objects"], bytes: ["inuse_space", "space"] },
  peak: { blocks: ["peak_objects"], bytes: ["peak_space"] },
};
/** Units of bytes as pprof knows them, without an s behind: each is 1,024 of the one before. */
const UNITS: readonly (readonly string[])[] = [
  ["b", "byte", ""],
  ["kb", "kbyte", "kilobyte"],
  ["mb", "mbyte", "megabyte"],
  ["gb", "gbyte", "gigabyte"],
];
const KINDS = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[];

const IN_WORDS: { readonly [What in keyof typeof COLUMNS]: string } = {
  allocated: "what was allocated",
  live: "what was live",
  peak: "the peak",
};

/** Tags of the types of values, of samples and of their distance; and what a type of values begins with. */
const TYPE_TAGS = [0x0a, 0x5a];
const TYPE_STARTS = [0x08, 0x10];
const LONGEST_TYPE = 0x20;

/** Whether bytes that are not compressed may be a pprof profile: writers begin with a type of values. */
export function isPprof([tag = 0, length = 0, start = 0]: Uint8Array): boolean {
  return TYPE_TAGS.includes(tag) && length < LONGEST_TYPE && TYPE_STARTS.includes(start);
}

/**
 * The heap profile that a `profile.proto` has, not compressed: of Go, tcmalloc, jemalloc and others.
 *
 * @param namesOf of places that have an address alone
 * @throws FormatError for what is no whole profile, and for profiles of other things than the heap
 */
export function readPprof(bytes: Uint8Array, namesOf?: PlaceNames): HeapProfile {
  const file = decodePprof(bytes);
  const columns = columnsOf(file);
  const modules = new FrameModules();
  const { frames, nameless } = framesOf(file, modules, namesOf);
  const paths = new Map<string, PathSums>();
  for (const sample of file.samples) {
    const key = sample.locations.join(" ");
    const path = paths.get(key);
    const size = sample.numbers.get("bytes");
    if (path === undefined) {
      paths.set(key, {
        sample,
        sums: [...sample.values],
        least: size,
        most: size,
        sized: size !== undefined,
      });
      continue;
    }
    path.sums = path.sums.map((sum, column) => sum + sample.values[column]!);
    if (size === undefined || path.least === undefined || path.most === undefined) path.sized = false;
    else {
      if (size < path.least) path.least = size;
      if (size > path.most) path.most = size;
    }
  }
  const count = [...paths.values()].reduce((sum, { sample }) => sum + framesIn(sample, file), 0);
  assertHolds(count, bytes.length, CONSTRUCT);
  const contexts = [...paths.values()].map(({ sample, sums, least, most, sized }): ImportedContext => {
    const blocks = (what: keyof typeof COLUMNS): ImportedBlocks | undefined => {
      const column = columns[what];
      return (
        column && {
          blocks: column.blocks === undefined ? undefined : amount(sums[column.blocks]!, sample),
          bytes: amount(sums[column.bytes]! * column.unit, sample),
        }
      );
    };
    return {
      frames: sample.locations.flatMap((id) => frames(id, sample)),
      allocated: blocks("allocated"),
      live: blocks("live"),
      peak: blocks("peak"),
      ...(sized && columns.allocated?.blocks !== undefined
        ? { sizes: { least: Number(least), most: Number(most) } }
        : {}),
    };
  });
  return importedHeapProfile({
    contexts: withEqualKnowledge(contexts),
    modules: modules.all,
    program: modules.all[0]?.path === undefined ? undefined : modules.all[0].name,
    clock: { kind: "wall", unit: "ms" },
    end: { kind: "dump" },
    format: "pprof",
    version: 0,
    notTracked: notTracked(file, columns, nameless()),
  });
}

/** Where nobody names addresses. */
function framesIn({ locations }: DecodedSample, file: DecodedPprof): number {
  return locations.reduce((sum, id) => sum + Math.max(1, file.locations.get(id)?.lines.length ?? 0), 0);
}

type Columns = {
  readonly [What in keyof typeof COLUMNS]?:
    | { readonly blocks: number | undefined; readonly bytes: number; readonly unit: bigint }
    | undefined;
};

/** The samples of one call path. */
interface PathSums {
  readonly sample: DecodedSample;
  sums: bigint[];
  /** Sizes of blocks, where all samples have one. */
  least: bigint | undefined;
  most: bigint | undefined;
  sized: boolean;
}

/** Where the values of a heap profile are. */
function columnsOf({ sampleTypes }: DecodedPprof): Columns {
  const entries = KINDS.map((what) => {
    const blocks = sampleTypes.findIndex(({ type }) => COLUMNS[what].blocks.includes(type));
    const bytes = sampleTypes.findIndex(
      ({ type, unit }) => COLUMNS[what].bytes.includes(type) && bytesOfUnit(unit) !== undefined,
    );
    if (bytes < 0) return [what, undefined] as const;
    // Some writers have bytes alone.
    const unit = bytesOfUnit(sampleTypes[bytes]!.unit)!;
    return [what, { blocks: blocks < 0 ? undefined : blocks, bytes, unit }] as const;
  });
  const columns: Columns = Object.fromEntries(entries);
  if (columns.allocated !== undefined || columns.live !== undefined) return columns;
  const types = sampleTypes.map(({ type, unit }) => `${type}/${unit}`).join(", ");
  throw new FormatError("unsupported", 0, CONSTRUCT, `it is no profile of a heap: its values are ${types}`);
}

/** Undefined for what is no unit of bytes. */
function bytesOfUnit(unit: string): bigint | undefined {
  const one = unit.toLowerCase().replace(/s$/, "");
  const power = UNITS.findIndex((names) => names.includes(one));
  return power < 0 ? undefined : 1024n ** BigInt(power);
}

function amount(value: bigint, { offset }: DecodedSample): number {
  if (value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  throw new FormatError(
    "unsupported",
    offset,
    "sample",
    value < 0n
      ? "it has a negative value: the difference of two profiles is no profile of a heap"
      : `${value} is too much`,
  );
}

/** The frames of a location, made once, innermost first; and how many locations have no name. */
function framesOf(
  { locations, functions, mappings }: DecodedPprof,
  modules: FrameModules,
  namesOf: PlaceNames | undefined,
): {
  frames: (id: bigint, sample: DecodedSample) => ResolvedFrame[];
  nameless: () => number;
} {
  let nameless = 0;
  const [main] = mappings.values();
  if (main !== undefined) modules.of(main.file || "the program", main.file || undefined, main.buildId);
  const known = new Map<bigint, ResolvedFrame[]>();
  const framesAt = (id: bigint, sample: DecodedSample): ResolvedFrame[] => {
    let frames = known.get(id);
    if (frames !== undefined) return frames;
    const location = locations.get(id);
    if (location === undefined)
      throw new FormatError(
        "malformed",
        sample.offset,
        "sample",
        `it names location ${id}, which is not there`,
      );
    const mapping = mappings.get(location.mapping);
    const file = mapping?.file || undefined;
    const module = modules.of(
      file ?? main?.file ?? "the program",
      file ?? (main?.file || undefined),
      mapping?.buildId,
    );
    const offset = Number(location.address - (mapping?.start ?? 0n));
    frames = location.lines.map(({ function: of, line, column }, depth) => {
      const called = functions.get(of);
      if (called === undefined)
        throw new FormatError(
          "malformed",
          sample.offset,
          "location",
          `it names function ${of}, which is not there`,
        );
      return {
        module,
        name: called.name || undefined,
        offset,
        file: called.file || undefined,
        line: line || undefined,
        column: column || undefined,
        inlined: depth < location.lines.length - 1,
      };
    });
    if (frames.length === 0) {
      const named =
        mapping === undefined || file === undefined
          ? undefined
          : namesOf?.({ ...mapping, path: file }, location.address);
      if (named === undefined) nameless++;
      frames = named?.map((frame) => ({ ...frame, module })) ?? [{ module, offset }];
    }
    known.set(id, frames);
    return frames;
  };
  return { frames: framesAt, nameless: () => nameless };
}

/** Sizes are known of all call paths or said of none. */
function withEqualKnowledge(contexts: readonly ImportedContext[]): ImportedContext[] {
  const isSized = contexts.every(({ sizes }) => sizes !== undefined);
  return isSized ? [...contexts] : contexts.map(({ sizes: _, ...context }) => context);
}

function notTracked(
  { sampleTypes, period, dropFrames, keepFrames }: DecodedPprof,
  columns: Columns,
  nameless: number,
): string[] {
  const shown = new Set(KINDS.flatMap((what) => [columns[what]?.blocks, columns[what]?.bytes]));
  const others = sampleTypes.filter((_, column) => !shown.has(column)).map(({ type }) => type);
  return [
    ...(period > 1
      ? [
          `The profile is made of samples, one for ${groupDigits(period)} bytes on average: its figures are estimates.`,
        ]
      : []),
    ...(columns.allocated === undefined
      ? ["What was allocated in all was not recorded, only what was live."]
      : []),
    ...KINDS.filter((what) => columns[what] !== undefined && columns[what].blocks === undefined).map(
      (what) => `Of ${IN_WORDS[what]}, blocks were not recorded, only their bytes.`,
    ),
    `${columns.peak === undefined ? "The peak, lifetimes" : "Lifetimes"} and accesses are not known: pprof profiles do not have them.`,
    ...(others.length === 0 ? [] : [`Not shown here: the file's values ${others.join(", ")}.`]),
    ...(dropFrames === ""
      ? []
      : [
          `All frames are shown; go tool pprof hides those that the file asks it to (${dropFrames}${keepFrames === "" ? "" : ` but not ${keepFrames}`}) with all that they call.`,
        ]),
    ...(nameless === 0
      ? []
      : [
          `${counted(nameless, "place has no name", "places have no names")}: --binary-path, given the program's binary and its libraries, brings them.`,
        ]),
  ];
}
