import { FormatError } from "../../bytes/errors.ts";
import { counted, groupDigits } from "../../model/counted.ts";
import type { HeapProfile, ResolvedFrame } from "../../model/heap-profile.ts";
import { type ImportedBlocks, type ImportedContext, importedHeapProfile } from "../../model/imported-heap.ts";
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
const KINDS = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[];

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
 * @throws FormatError for what is no whole profile, and for profiles of other things than the heap
 */
export function readPprof(bytes: Uint8Array): HeapProfile {
  const file = decodePprof(bytes);
  const columns = columnsOf(file);
  const modules = new FrameModules();
  const frames = framesOf(file, modules);
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
  const contexts = [...paths.values()].map(({ sample, sums, least, most, sized }): ImportedContext => {
    const blocks = (what: keyof typeof COLUMNS): ImportedBlocks | undefined => {
      const column = columns[what];
      return (
        column && { blocks: amount(sums[column.blocks]!, sample), bytes: amount(sums[column.bytes]!, sample) }
      );
    };
    return {
      frames: sample.locations.flatMap((id) => frames(id, sample)),
      allocated: blocks("allocated"),
      live: blocks("live"),
      peak: blocks("peak"),
      ...(sized && columns.allocated !== undefined
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
    notTracked: notTracked(file, columns),
  });
}

type Columns = {
  readonly [What in keyof typeof COLUMNS]?: { readonly [Of in keyof ImportedBlocks]: number } | undefined;
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
  const at = (names: readonly string[]) => sampleTypes.findIndex(({ type }) => names.includes(type));
  const entries = KINDS.map((what) => {
    const column = { blocks: at(COLUMNS[what].blocks), bytes: at(COLUMNS[what].bytes) };
    return [what, column.blocks < 0 || column.bytes < 0 ? undefined : column] as const;
  });
  const columns: Columns = Object.fromEntries(entries);
  if (columns.allocated !== undefined || columns.live !== undefined) return columns;
  const types = sampleTypes.map(({ type, unit }) => `${type}/${unit}`).join(", ");
  throw new FormatError("unsupported", 0, CONSTRUCT, `it is no profile of a heap: its values are ${types}`);
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

/** The frames of a location, made once, innermost first. */
function framesOf(
  { locations, functions, mappings }: DecodedPprof,
  modules: FrameModules,
): (id: bigint, sample: DecodedSample) => ResolvedFrame[] {
  const [main] = mappings.values();
  if (main !== undefined) modules.of(main.file || "the program", main.file || undefined, main.buildId);
  const known = new Map<bigint, ResolvedFrame[]>();
  return (id, sample) => {
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
    if (frames.length === 0) frames = [{ module, offset }];
    known.set(id, frames);
    return frames;
  };
}

/** Sizes are known of all call paths or said of none. */
function withEqualKnowledge(contexts: readonly ImportedContext[]): ImportedContext[] {
  const isSized = contexts.every(({ sizes }) => sizes !== undefined);
  return isSized ? [...contexts] : contexts.map(({ sizes: _, ...context }) => context);
}

function notTracked(
  { sampleTypes, period, locations, dropFrames, keepFrames }: DecodedPprof,
  columns: Columns,
): string[] {
  const shown = new Set(KINDS.flatMap((what) => Object.values(columns[what] ?? {})));
  const others = sampleTypes.filter((_, column) => !shown.has(column)).map(({ type }) => type);
  const nameless = [...locations.values()].filter(({ lines }) => lines.length === 0).length;
  return [
    ...(period > 1
      ? [
          `The profile is made of samples, one for ${groupDigits(period)} bytes on average: its figures are estimates.`,
        ]
      : []),
    ...(columns.allocated === undefined
      ? ["What was allocated in all was not recorded, only what was live."]
      : []),
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
          `${counted(nameless, "place has no name", "places have no names")}: pprof -proto, given the program's binary, writes a profile that has them.`,
        ]),
  ];
}
