import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { loadBias } from "../code/objects/index.ts";
import { FormatError, UserError } from "../ground/bytes/errors.ts";
import { loadDemangler } from "../names/load/demangler.ts";
import { debuginfodCaches } from "../names/load/installed-objects.ts";
import { ObjectFinder } from "../names/load/objects.ts";
import { type FileSymbolizer, loadSymbolizer } from "../names/load/symbolizer.ts";
import { faultOf } from "../names/memprof/input-reader.ts";
import { isDhat, readDhat } from "../profile/formats/dhat.ts";
import { isHeapText, readHeapText } from "../profile/formats/heap-text/read-heap-text.ts";
import { isHeaptrack, readHeaptrack } from "../profile/formats/heaptrack.ts";
import { isPprof, readPprof } from "../profile/formats/pprof/read-pprof.ts";
import { CPU_FILE, CPU_SCHEMA } from "../profile/model/cpu.ts";
import type { HeapProfile, ResolvedFrame } from "../profile/model/heap-profile.ts";
import type { MappedPart, PlaceNames } from "../profile/model/imported-heap.ts";
import { OBJECTS_SCHEMA } from "../profile/model/objects.ts";
import { HEAP_INTERVALS_FILE, HEAP_INTERVALS_SCHEMA } from "../profile/model/over-time/heap-intervals.ts";
import { MEASURED_SCHEMA, NAMES_FILE, NAMES_SCHEMA, RUN_FILE, RUN_SCHEMA } from "../profile/model/run.ts";
import { STATICS_FILE, STATICS_SCHEMA } from "../profile/model/statics.ts";
import { WASTE_SCHEMA } from "../profile/model/waste.ts";
import { WORKING_SET_SCHEMA } from "../profile/model/working-set/working-set.ts";

export { memprofHeapProfile } from "../names/memprof/heap.ts";

/** Names the addresses in files of other tools, by the objects that the process had mapped. */
class MappedPlaces {
  readonly #finder: ObjectFinder;
  readonly #symbolizers = new Map<string, FileSymbolizer | undefined>();
  readonly #unsure = new Set<string>();

  constructor(binaryPaths: readonly string[] = []) {
    this.#finder = new ObjectFinder({ binaryPaths, debuginfodCaches: debuginfodCaches() });
  }

  /** Returns a sentence about objects that may not be those of the profile. */
  get sentences(): string[] {
    if (this.#unsure.size === 0) return [];
    const files = [...this.#unsure].join(", ");
    return [
      `The profile has no build ids: names come from the files of today (${files}), and may be wrong if these have changed.`,
    ];
  }

  /** Returns the frames at an address, innermost first; undefined if none has a name. */
  framesAt(part: MappedPart, address: bigint): readonly ResolvedFrame[] | undefined {
    const symbolizer = this.#symbolizerOf(part);
    if (symbolizer === undefined) return undefined;
    const { object } = symbolizer.symbolizer;
    const bias = loadBias(object, Number(part.start), Number(part.fileOffset));
    if (bias === undefined) return undefined;
    const offset = Number(address) - bias;
    const frames = symbolizer.frames(offset);
    if (frames.at(-1)?.function === undefined) return undefined;
    if (part.buildId === "") this.#unsure.add(symbolizer.path);
    return frames.map(({ function: name, file, line, column, startLine, inlined }) => ({
      name,
      offset,
      file,
      line: line || undefined,
      column: column || undefined,
      startLine: startLine || undefined,
      inlined,
    }));
  }

  #symbolizerOf({ path, buildId }: MappedPart): FileSymbolizer | undefined {
    const key = `${path} ${buildId}`;
    if (!this.#symbolizers.has(key)) {
      const found = this.#finder.find({ path, buildId: buildId || undefined });
      const isThere = !("missing" in found) && found.object.kind === "elf";
      this.#symbolizers.set(
        key,
        isThere ? loadSymbolizer(found, { demangle: loadDemangler(), finder: this.#finder }) : undefined,
      );
    }
    return this.#symbolizers.get(key);
  }
}

/** Bytes at the start of a file from which its kind is recognized. */
const START_BYTES = 4096;
/** Most bytes of a decompressed file: more than anyone inspects, and less than a machine has. */
const MOST_BYTES = 2 ** 32;
/**
 * Largest accepted compression ratio. Profiles compress to a tenth or a thirtieth; files made to fill the
 * memory, to a thousandth or less.
 */
const LARGEST_RATIO = 128;
const ALWAYS_ALLOWED = 2 ** 26;

type Read = (namesOf: PlaceNames) => HeapProfile;

interface ImportedFormat {
  /** Recognizes the format by a file's first characters, its bytes, and its compression. */
  readonly is: (file: { start: string; bytes: Uint8Array; packed: Packing | undefined }) => boolean;
  /** @param named reads a profile of addresses, with names from the objects on this machine */
  readonly read: (bytes: Uint8Array, file: string, named: (read: Read) => HeapProfile) => HeapProfile;
}

/** Formats, a row each; the first match is used. */
const IMPORTED_FORMATS: readonly ImportedFormat[] = [
  { is: ({ start }) => isHeaptrack(start), read: readHeaptrack },
  { is: ({ start }) => isDhat(start), read: (bytes, file) => readDhat(textOf(file, bytes)) },
  {
    is: ({ start }) => isHeapText(start),
    read: (bytes, _file, named) => named((namesOf) => readHeapText(bytes, namesOf)),
  },
  {
    // MemProf files are never compressed, so gzip means pprof.
    is: ({ bytes, packed }) => packed === "gzip" || isPprof(bytes),
    read: (bytes, _file, named) => named((namesOf) => readPprof(bytes, namesOf)),
  },
];

/**
 * Reads the heap profile of another tool: DHAT, pprof, heaptrack, or a text of jemalloc or gperftools, which
 * may be compressed by gzip or zstd. Undefined for other files.
 *
 * @param binaryPaths places of the program and its libraries, for files with addresses only
 * @throws UserError in one line if it is damaged, of an unsupported version, or no heap profile
 */
export function importedHeap(
  file: string,
  content: Uint8Array,
  binaryPaths?: readonly string[],
): HeapProfile | undefined {
  const packed = packingOf(content);
  const bytes = packed === undefined ? content : unpacked(file, content, packed);
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, START_BYTES));
  try {
    const format = IMPORTED_FORMATS.find(({ is }) => is({ start, bytes, packed }));
    return format?.read(bytes, file, (read) => named(binaryPaths, read));
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    if (error.kind === "unsupported")
      throw new UserError(`${file} cannot be read: ${error.construct}: ${error.detail}`);
    throw new UserError(`${file} ${faultOf(error)}`);
  }
}

function named(binaryPaths: readonly string[] | undefined, read: Read): HeapProfile {
  const places = new MappedPlaces(binaryPaths);
  const profile = read((part, address) => places.framesAt(part, address));
  const { description } = profile;
  const notTracked = [...description.notTracked, ...places.sentences];
  return { ...profile, description: { ...description, notTracked } };
}

type Packing = "gzip" | "zstd";

function packingOf(bytes: Uint8Array): Packing | undefined {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "gzip";
  const isZstd = bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd;
  return isZstd ? "zstd" : undefined;
}

function unpacked(file: string, bytes: Uint8Array, packing: Packing): Uint8Array {
  const unpack = packing === "gzip" ? gunzipSync : zstdDecompressSync;
  const most = Math.min(MOST_BYTES, Math.max(ALWAYS_ALLOWED, LARGEST_RATIO * bytes.length));
  try {
    return unpack(bytes, { maxOutputLength: most });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(
      code === "ERR_BUFFER_TOO_LARGE"
        ? `${file} cannot be read: unpacked it has more than ${most === MOST_BYTES ? "4 GiB" : `${most >> 20} MiB, too much for a profile of its size`}`
        : `${file} is damaged: its ${packing} data ends early or is broken`,
    );
  }
}

function textOf(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder().decode(bytes);
  } catch {
    throw new UserError(`${file} cannot be read: it is too large for a text file`);
  }
}

/** Files of a run's folder that can be read alone under their own names. */
const READ_BY_NAME: ReadonlyMap<string, string> = new Map([
  [RUN_SCHEMA, RUN_FILE],
  [WASTE_SCHEMA, "waste.json"],
  [WORKING_SET_SCHEMA, "workingset.json"],
  [OBJECTS_SCHEMA, "objects.json"],
]);
const PARTS: ReadonlyMap<string, string> = new Map([
  [CPU_SCHEMA, CPU_FILE],
  [MEASURED_SCHEMA, "measured.json"],
  [STATICS_SCHEMA, STATICS_FILE],
  [HEAP_INTERVALS_SCHEMA, HEAP_INTERVALS_FILE],
  [NAMES_SCHEMA, NAMES_FILE],
]);

/** Starts of text files of other tools, and hints for these files. */
const TEXTS: readonly (readonly [start: RegExp, hint: string])[] = [
  [/^PERFILE2/, "it is a recording of perf, which memshade unwind reads and exports"],
  [
    /^desc: [^\n]*\ncmd: /,
    "it is a profile of massif, which ms_print shows; valgrind --tool=dhat records one that is read here",
  ],
  [
    /^\s*(?:=+\s+)?==\d+==\s*ERROR: (?:Leak|Address)Sanitizer/,
    "it is a report of LeakSanitizer, a text for people; memshade run ./program, or valgrind --tool=dhat, records a profile",
  ],
  [/^--- \w/, "it is a profile of gperftools or Go of something else than the heap, which pprof shows"],
  [
    /^==\d+== (?:Memcheck|DHAT|Massif|Valgrind)/,
    "it is what Valgrind prints; valgrind --tool=dhat --dhat-out-file=FILE writes a profile that is read here",
  ],
];

const V8_SNAPSHOT = "which Chromium's DevTools show (Memory, Load profile)";

/** Starts of JSON files of other tools, without white space. */
const JSON_FILES: readonly (readonly [start: RegExp, hint: string])[] = [
  [
    /^\{"snapshot":\{"meta":/,
    `it is a heap snapshot or timeline of V8, ${V8_SNAPSHOT}; memshade node records what its objects cost`,
  ],
  [
    /^\{"head":\{/,
    `it is a sampled heap profile of V8, ${V8_SNAPSHOT}; memshade node records a profile of a program`,
  ],
  [/^\{"nodes":\[\{"id":/, "it is a CPU profile of V8, which Chromium's DevTools show (Performance)"],
  [/"\$schema":"https:\/\/www\.speedscope\.app/, "it is a file of speedscope, which memshade export writes"],
  [
    /^\{"meta":\{[\s\S]*"preprocessedProfileVersion"/,
    "it is a profile of the Firefox Profiler, which memshade export writes",
  ],
  [/"traceEvents":\[/, "it is a trace of Chromium, which Perfetto shows"],
  [/"\$schema":"[^"]*sarif/, "it is a SARIF file, which memshade check writes"],
  [/^\{"version":3,.*"(?:mappings|sources)":/, "it is a source map"],
  [
    /^\{"command":"[\s\S]*"(?:stores|loads)":\[/,
    "it is a waste.json, also one of the tool deadstores, which memshade waste-print shows",
  ],
];

/** Returns the kind of a file that is no heap profile, by its content, as a clause; undefined if unknown. */
export function kindOfContent(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0) return "it is empty";
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, START_BYTES));
  // The type of an ELF file is its 17th byte.
  if (start.startsWith("\x7fELF"))
    return bytes[16] === 4
      ? "it is a core dump, which memshade unwind reads and exports"
      : "it is a program or a part of one, not a recorded run: memshade run records programs";
  const text = TEXTS.find(([pattern]) => pattern.test(start));
  if (text !== undefined) return text[1];
  const json = start.replace(/\s+/g, "");
  if (!/^[{[]/.test(json)) return undefined;
  const schema = /^\{"schema":"(memshade-[a-z-]+)"/.exec(json)?.[1];
  if (schema !== undefined) return ownFile(schema);
  return JSON_FILES.find(([pattern]) => pattern.test(json))?.[1] ?? "it is some other JSON";
}

function ownFile(schema: string): string {
  const name = READ_BY_NAME.get(schema);
  if (name !== undefined) return `it is the ${name} of a run, and is read by that name`;
  const part = PARTS.get(schema);
  return part === undefined
    ? `it is what memshade printed as JSON (${schema}), for other programs: name the run that it was made of`
    : `it is the ${part} of a run: name the folder that it lay in`;
}
