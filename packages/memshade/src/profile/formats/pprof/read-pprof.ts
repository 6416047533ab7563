import { FormatError } from "../../../ground/bytes/errors.ts";
import { ByteReader } from "../../../ground/bytes/reader.ts";
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

/** Parts of a `profile.proto` that a heap profile needs. Ids are those of the file. */
interface DecodedPprof {
  readonly sampleTypes: readonly { readonly type: string; readonly unit: string }[];
  readonly samples: readonly DecodedSample[];
  readonly locations: ReadonlyMap<bigint, DecodedLocation>;
  readonly functions: ReadonlyMap<bigint, DecodedFunction>;
  readonly mappings: ReadonlyMap<bigint, DecodedMapping>;
  readonly period: number;
  /**
   * Regular expressions of function names. pprof viewers hide functions that `dropFrames` matches and `keepFrames` does
   * not, together with their callees.
   */
  readonly dropFrames: string;
  readonly keepFrames: string;
}

interface DecodedSample {
  readonly locations: readonly bigint[];
  readonly values: readonly bigint[];
  readonly numbers: ReadonlyMap<string, bigint>;
  readonly offset: number;
}

interface DecodedLocation {
  readonly mapping: bigint;
  readonly address: bigint;
  readonly lines: readonly { readonly function: bigint; readonly line: number; readonly column: number }[];
}

interface DecodedFunction {
  readonly name: string;
  readonly file: string;
}

interface DecodedMapping {
  readonly start: bigint;
  readonly fileOffset: bigint;
  readonly file: string;
  readonly buildId: string;
}

const CONSTRUCT = "pprof profile";

type Value = { readonly number: bigint } | { readonly bytes: ByteReader };

/**
 * Decodes an uncompressed profile.
 *
 * @throws FormatError with the offset of a malformed or truncated part
 */
export function decodePprof(bytes: Uint8Array): DecodedPprof {
  const sampleTypes: [number, number][] = [];
  const samples: { fields: Fields; offset: number }[] = [];
  const locations: Fields[] = [];
  const functions: Fields[] = [];
  const mappings: Fields[] = [];
  const strings: string[] = [];
  let period = 0;
  let [dropFrames, keepFrames] = [0, 0];
  const utf8 = new TextDecoder();
  for (const { field, value, offset } of fieldsOf(new ByteReader(bytes)))
    if (field === 1) {
      const fields = messageOf(value, offset);
      sampleTypes.push([indexOf(fields, 1), indexOf(fields, 2)]);
    } else if (field === 2) samples.push({ fields: messageOf(value, offset), offset });
    else if (field === 3) mappings.push(messageOf(value, offset));
    else if (field === 4) locations.push(messageOf(value, offset));
    else if (field === 5) functions.push(messageOf(value, offset));
    else if (field === 6) strings.push(utf8.decode(viewOf(bytesOf(value, offset))));
    else if (field === 7) dropFrames = Number(numberOf(value, offset));
    else if (field === 8) keepFrames = Number(numberOf(value, offset));
    else if (field === 12) period = Number(signed(numberOf(value, offset)));
  if (strings[0] !== "" || sampleTypes.length === 0)
    throw new FormatError("malformed", 0, CONSTRUCT, "it has no table of strings, or no types of values");
  const text = (index: number): string => {
    const found = strings[index];
    if (found === undefined)
      throw new FormatError("malformed", 0, CONSTRUCT, `string ${index} of ${strings.length} is named`);
    return found;
  };
  return {
    sampleTypes: sampleTypes.map(([type, unit]) => ({ type: text(type), unit: text(unit) })),
    samples: samples.map(({ fields, offset }) => sampleOf(fields, offset, sampleTypes.length, text)),
    mappings: byId(mappings, (fields) => ({
      start: numberIn(fields, 2),
      fileOffset: numberIn(fields, 4),
      file: text(indexOf(fields, 5)),
      buildId: text(indexOf(fields, 6)),
    })),
    locations: byId(locations, (fields) => ({
      mapping: numberIn(fields, 2),
      address: numberIn(fields, 3),
      lines: (fields.get(4) ?? []).map((value) => {
        const line = messageOf(value, 0);
        return { function: numberIn(line, 1), line: indexOf(line, 2), column: indexOf(line, 3) };
      }),
    })),
    functions: byId(functions, (fields) => ({
      name: text(indexOf(fields, 2)) || text(indexOf(fields, 3)),
      file: text(indexOf(fields, 4)),
    })),
    period,
    dropFrames: text(dropFrames),
    keepFrames: text(keepFrames),
  };
}

type Fields = ReadonlyMap<number, readonly Value[]>;

function sampleOf(
  fields: Fields,
  offset: number,
  types: number,
  text: (index: number) => string,
): DecodedSample {
  const values = numbersOf(fields.get(2) ?? []).map(signed);
  if (values.length !== types)
    throw new FormatError(
      "malformed",
      offset,
      "sample",
      `it has ${values.length} values, and there are ${types} types`,
    );
  const labels = (fields.get(3) ?? []).map((value) => messageOf(value, offset));
  return {
    locations: numbersOf(fields.get(1) ?? []),
    values,
    numbers: new Map(labels.map((label) => [text(indexOf(label, 1)), signed(numberIn(label, 3))])),
    offset,
  };
}

function byId<T>(rows: readonly Fields[], make: (fields: Fields) => T): Map<bigint, T> {
  return new Map(rows.map((fields) => [numberIn(fields, 1), make(fields)]));
}

function messageOf(value: Value, offset: number): Fields {
  const fields = new Map<number, Value[]>();
  for (const { field, value: part } of fieldsOf(bytesOf(value, offset))) {
    const existing = fields.get(field);
    if (existing === undefined) fields.set(field, [part]);
    else existing.push(part);
  }
  return fields;
}

function* fieldsOf(reader: ByteReader): Generator<{ field: number; value: Value; offset: number }> {
  while (!reader.atEnd) {
    const offset = reader.position;
    const tag = varint(reader);
    const field = Number(tag >> 3n);
    if (field === 0) throw new FormatError("malformed", offset, CONSTRUCT, "a field has the number 0");
    const wire = Number(tag & 7n);
    if (wire === 0) yield { field, value: { number: varint(reader) }, offset };
    else if (wire === 2) {
      const length = varint(reader);
      if (length > BigInt(reader.remaining))
        throw new FormatError(
          "truncated",
          offset,
          CONSTRUCT,
          `a field of ${length} bytes begins, ${reader.remaining} are left`,
        );
      const start = reader.skip(Number(length));
      yield { field, value: { bytes: new ByteReader(reader.bytes, start, start + Number(length)) }, offset };
    } else if (wire === 1 || wire === 5) reader.skip(wire === 1 ? 8 : 4, CONSTRUCT);
    else throw new FormatError("malformed", offset, CONSTRUCT, `a field has the wire type ${wire}`);
  }
}

/** Reads a varint of at most ten bytes, the limit of protocol buffers. */
function varint(reader: ByteReader): bigint {
  const start = reader.position;
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = reader.u8(CONSTRUCT);
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return BigInt.asUintN(64, value);
  }
  throw new FormatError("malformed", start, CONSTRUCT, "a number has more than ten bytes");
}

function numberOf(value: Value, offset: number): bigint {
  if ("number" in value) return value.number;
  throw new FormatError("malformed", offset, CONSTRUCT, "a number is expected");
}

function bytesOf(value: Value, offset: number): ByteReader {
  if ("bytes" in value) return value.bytes;
  throw new FormatError("malformed", offset, CONSTRUCT, "a message or text is expected");
}

function viewOf({ bytes, position, end }: ByteReader): Uint8Array {
  return bytes.subarray(position, end);
}

function numbersOf(values: readonly Value[]): bigint[] {
  return values.flatMap((value) => {
    if ("number" in value) return [value.number];
    const { bytes, position, end } = value.bytes;
    const reader = new ByteReader(bytes, position, end);
    const numbers: bigint[] = [];
    while (!reader.atEnd) numbers.push(varint(reader));
    return numbers;
  });
}

function numberIn(fields: Fields, field: number): bigint {
  const value = fields.get(field)?.at(-1);
  return value === undefined ? 0n : numberOf(value, 0);
}

/** Returns a number that is small in a valid file, such as an index or a line; 0 otherwise. */
function indexOf(fields: Fields, field: number): number {
  const value = signed(numberIn(fields, field));
  return value < 0n || value > 0xffff_ffffn ? 0 : Number(value);
}

function signed(value: bigint): bigint {
  return BigInt.asIntN(64, value);
}

/** Value names of heap profiles. The last names are from allocators that record only live blocks. */
const COLUMNS: {
  readonly [What in "allocated" | "live" | "peak"]: {
    readonly [Of in keyof ImportedBlocks]: readonly string[];
  };
} = {
  allocated: { blocks: ["alloc_objects"], bytes: ["alloc_space"] },
  live: { blocks: ["inuse_objects", "objects"], bytes: ["inuse_space", "space"] },
  peak: { blocks: ["peak_objects"], bytes: ["peak_space"] },
};
/** Byte units of pprof, without a plural s: each is 1,024 times the previous one. */
const UNITS: readonly (readonly string[])[] = [
  ["b", "byte", ""],
  ["kb", "kbyte", "kilobyte"],
  ["mb", "mbyte", "megabyte"],
  ["gb", "gbyte", "gigabyte"],
];
const KINDS = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[];

const IN_WORDS: { readonly [What in keyof typeof COLUMNS]: string } = {
  allocated: "allocations",
  live: "live blocks",
  peak: "the peak",
};

/** Tags of the value types of samples and of their period, and the first byte of a value type. */
const TYPE_TAGS = [0x0a, 0x5a];
const TYPE_STARTS = [0x08, 0x10];
const LONGEST_TYPE = 0x20;

/** Returns true if uncompressed bytes may be a pprof profile, because writers begin with a value type. */
export function isPprof([tag = 0, length = 0, start = 0]: Uint8Array): boolean {
  return TYPE_TAGS.includes(tag) && length < LONGEST_TYPE && TYPE_STARTS.includes(start);
}

/**
 * Reads the heap profile in an uncompressed `profile.proto` of Go, tcmalloc, jemalloc and others.
 *
 * @param namesOf resolves locations that have only an address
 * @throws FormatError for incomplete profiles, and for profiles of other things than the heap
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
    const blocks = (kind: keyof typeof COLUMNS): ImportedBlocks | undefined => {
      const column = columns[kind];
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
    modules: modules.list,
    program: modules.list[0]?.path === undefined ? undefined : modules.list[0].name,
    clock: { kind: "wall", unit: "ms" },
    end: { kind: "dump" },
    format: "pprof",
    version: 0,
    notTracked: notTracked(file, columns, nameless()),
  });
}

/** Returns the number of frames if no address is resolved by `namesOf`. */
function framesIn({ locations }: DecodedSample, file: DecodedPprof): number {
  return locations.reduce((sum, id) => sum + Math.max(1, file.locations.get(id)?.lines.length ?? 0), 0);
}

type Columns = {
  readonly [What in keyof typeof COLUMNS]?:
    | { readonly blocks: number | undefined; readonly bytes: number; readonly unit: bigint }
    | undefined;
};

interface PathSums {
  readonly sample: DecodedSample;
  sums: bigint[];
  /** Sizes of the smallest and largest block, valid only if all samples have a block size. */
  least: bigint | undefined;
  most: bigint | undefined;
  sized: boolean;
}

function columnsOf({ sampleTypes }: DecodedPprof): Columns {
  const entries = KINDS.map((kind) => {
    const blocks = sampleTypes.findIndex(({ type }) => COLUMNS[kind].blocks.includes(type));
    const bytes = sampleTypes.findIndex(
      ({ type, unit }) => COLUMNS[kind].bytes.includes(type) && bytesOfUnit(unit) !== undefined,
    );
    if (bytes < 0) return [kind, undefined] as const;
    // Some writers record only bytes.
    const unit = bytesOfUnit(sampleTypes[bytes]!.unit)!;
    return [kind, { blocks: blocks < 0 ? undefined : blocks, bytes, unit }] as const;
  });
  const columns: Columns = Object.fromEntries(entries);
  if (columns.allocated !== undefined || columns.live !== undefined) return columns;
  const types = sampleTypes.map(({ type, unit }) => `${type}/${unit}`).join(", ");
  throw new FormatError("unsupported", 0, CONSTRUCT, `it is no profile of a heap: its values are ${types}`);
}

function bytesOfUnit(unit: string): bigint | undefined {
  const singular = unit.toLowerCase().replace(/s$/, "");
  const power = UNITS.findIndex((names) => names.includes(singular));
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

/** Returns a lookup of a location's frames (cached, innermost first) and the number of unresolved locations. */
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
  if (main !== undefined) modules.indexOf(main.file || "the program", main.file || undefined, main.buildId);
  const cache = new Map<bigint, ResolvedFrame[]>();
  const framesAt = (id: bigint, sample: DecodedSample): ResolvedFrame[] => {
    let frames = cache.get(id);
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
    const module = modules.indexOf(
      file ?? main?.file ?? "the program",
      file ?? (main?.file || undefined),
      mapping?.buildId,
    );
    const offset = Number(location.address - (mapping?.start ?? 0n));
    frames = location.lines.map(({ function: functionId, line, column }, depth) => {
      const called = functions.get(functionId);
      if (called === undefined)
        throw new FormatError(
          "malformed",
          sample.offset,
          "location",
          `it names function ${functionId}, which is not there`,
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
    cache.set(id, frames);
    return frames;
  };
  return { frames: framesAt, nameless: () => nameless };
}

/** Drops the block sizes unless all call paths have them. */
function withEqualKnowledge(contexts: readonly ImportedContext[]): ImportedContext[] {
  const isSized = contexts.every(({ sizes }) => sizes !== undefined);
  return isSized ? [...contexts] : contexts.map(({ sizes: _, ...context }) => context);
}

function notTracked(
  { sampleTypes, period, dropFrames, keepFrames }: DecodedPprof,
  columns: Columns,
  nameless: number,
): string[] {
  const shown = new Set(KINDS.flatMap((kind) => [columns[kind]?.blocks, columns[kind]?.bytes]));
  const otherTypes = sampleTypes.filter((_, column) => !shown.has(column)).map(({ type }) => type);
  return [
    ...(period > 1
      ? [
          `The profile is sampled, one sample for ${groupDigits(period)} bytes on average: its figures are estimates.`,
        ]
      : []),
    ...(columns.allocated === undefined
      ? ["Only live blocks were recorded, not the sum of all allocations."]
      : []),
    ...KINDS.filter((kind) => columns[kind] !== undefined && columns[kind].blocks === undefined).map(
      (kind) => `Only the bytes of ${IN_WORDS[kind]} were recorded, not the number of blocks.`,
    ),
    `pprof profiles have no ${columns.peak === undefined ? "peak, lifetimes" : "lifetimes"} and accesses.`,
    ...(otherTypes.length === 0 ? [] : [`Not shown here: the file's values ${otherTypes.join(", ")}.`]),
    ...(dropFrames === ""
      ? []
      : [
          `All frames are shown; go tool pprof hides the frames ${dropFrames}${keepFrames === "" ? "" : `, except ${keepFrames},`} and everything that they call.`,
        ]),
    ...(nameless === 0
      ? []
      : [
          `${counted(nameless, "place has no name", "places have no names")}: give the program and its libraries with --binary-path.`,
        ]),
  ];
}
