import { readdirSync, statSync } from "node:fs";
import path, { dirname, join } from "node:path";
import type { ByteSource } from "../../ground/bytes/byte-source.ts";
import { partitionPoint } from "../../ground/bytes/columns.ts";
import { entryOf } from "../../ground/bytes/entries.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { getU64, hexOf } from "../../ground/bytes/numbers.ts";
import {
  functionGuid,
  heapProfileFromMemprof,
  isInRuntime,
  type KnownFunction,
  type SourceFrame,
} from "../../profile/formats/memprof/index.ts";
import { isIndexedProfile, readContainer } from "../../profile/formats/memprof-indexed/index.ts";
import {
  isMemprofRaw,
  lastVersion,
  type RawCursor,
  type RawScan,
  type RawSegment,
  scanDumps,
} from "../../profile/formats/memprof-raw/index.ts";
import { mibBytesOf } from "../../profile/formats/memprof-raw/layout.ts";
import { haveEqualSegments } from "../../profile/formats/memprof-raw/merge-dumps.ts";
import { isMemprofYaml } from "../../profile/formats/memprof-text/index.ts";
import { isMemshadeProfile } from "../../profile/formats/memshade-profile/index.ts";
import { agreeing, counted } from "../../profile/model/counted.ts";
import {
  GrowingMibColumns,
  type HeapProfile,
  type ModuleKnowledge,
  type ProfileDescription,
  type ProfileModule,
  type ResolvedFrame,
} from "../../profile/model/heap-profile.ts";
import { HeapProfileBuilder } from "../../profile/model/heap-profile-builder.ts";
import type { IndexIntoModuleTable } from "../../profile/model/indices.ts";
import { mibFromPacked } from "../../profile/model/memprof/merge/block-merge.ts";
import { MIB_FIELDS } from "../../profile/model/mib-fields.ts";
import { loadDemangler } from "../load/demangler.ts";
import { openFile } from "../load/file.ts";
import { debuginfodCaches, InstalledObjects } from "../load/installed-objects.ts";
import { type LoadedObject, loadObject, ObjectFinder } from "../load/objects.ts";
import { loadSymbolizer } from "../load/symbolizer.ts";
import { type BinaryPlaces, linkAddressOf, noBinary, ProfiledBinaries } from "./binaries.ts";
import { InputMerger } from "./input-merger.ts";
import { explained, MAGIC_BYTES } from "./input-reader.ts";

/** Digits of the build id that name a module without a file. */
const SHORT_ID_DIGITS = 8;

/** Names of files in build-id folders, which do not identify the module. */
const NAMELESS_FILE = /^(?:executable|debuginfo|elf|[0-9a-f]{20,}(?:\.debug)?)$/;

/** Allocation functions of MemProf's runtime, as symbol tables name them. */
const ALLOCATION =
  /^(?:_{2,3}interceptor_)?(?:__libc_|__)?(?:malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|p?valloc|strn?dup)$|^_Zn[wa][mj]/;

interface CodePlace {
  readonly module?: CodeModule | undefined;
  /** Innermost first; at least one. */
  readonly frames: readonly ResolvedFrame[];
  /** True if this place, as the innermost one, is an allocation function of MemProf's runtime. */
  readonly isRuntime: boolean;
  /** True for the program's `main`; its callers are the same for all allocations. */
  readonly isMain: boolean;
}

/** Modules of all processes of a profile. A file is one module, wherever the processes mapped it. */
class CodeModules {
  readonly modules: CodeModule[] = [];
  readonly #named: ProfiledBinaries;
  readonly #installed: InstalledObjects;
  readonly #byKey = new Map<string, CodeModule>();
  readonly #finder: ObjectFinder;

  /** @param installed finds binaries that the user did not name */
  constructor(named: ProfiledBinaries, installed: InstalledObjects, folders: readonly string[]) {
    this.#named = named;
    this.#installed = installed;
    this.#finder = new ObjectFinder({ binaryPaths: folders, debuginfodCaches: debuginfodCaches() });
  }

  /**
   * @param position of the segment in its dump; the program is the first
   * @param processNumber distinguishes modules without build ids
   */
  at(segment: RawSegment, position: number, processNumber: number): CodeModule {
    const buildId = hexOf(segment.buildId);
    const key = buildId === "" ? `${processNumber} ${position}` : buildId;
    let module = this.#byKey.get(key);
    if (module === undefined) {
      const named = buildId === "" ? undefined : this.#named.find(buildId);
      const loaded = named ?? (buildId === "" ? undefined : this.#installed.find(buildId));
      module = new CodeModule(
        { index: this.modules.length as IndexIntoModuleTable, position, segment, buildId },
        loaded,
        this.#finder,
      );
      module.isNamed = named !== undefined;
      this.#byKey.set(key, module);
      this.modules.push(module);
    }
    return module;
  }
}

interface ModuleIdentity {
  readonly index: IndexIntoModuleTable;
  readonly position: number;
  readonly segment: RawSegment;
  readonly buildId: string;
}

class CodeModule {
  isNamed = false;
  /** True if a shown path passes through it, or would with the program's frames. */
  isShown: boolean;
  readonly isProgram: boolean;
  readonly #identity: ModuleIdentity;
  readonly #loaded: LoadedObject | undefined;
  readonly #finder: ObjectFinder;
  readonly #places = new Map<number, CodePlace>();
  #symbols: ReturnType<typeof loadSymbolizer> | undefined;
  #knowledge: ModuleKnowledge = "nothing";

  constructor(identity: ModuleIdentity, loaded: LoadedObject | undefined, finder: ObjectFinder) {
    this.#identity = identity;
    this.isProgram = identity.position === 0;
    this.isShown = this.isProgram;
    this.#loaded = loaded;
    this.#finder = finder;
  }

  get isFound(): boolean {
    return this.#loaded !== undefined;
  }

  describe(): ProfileModule {
    const { segment, buildId } = this.#identity;
    const { start, end } = segment;
    return {
      name: this.#name,
      path: this.#loaded?.path,
      buildId,
      start,
      end,
      knows: this.isShown ? this.#knowledge : undefined,
    };
  }

  /**
   * Returns the offset that turns run-time addresses of one process into addresses that are equal in all
   * processes.
   */
  shiftOf(segment: RawSegment): number {
    const base = Number(segment.offset);
    if (this.#loaded === undefined) return -base;
    return linkAddressOf(segment, this.#loaded.object) - Number(segment.start);
  }

  placeAt(address: number): CodePlace {
    return entryOf(this.#places, address, () => this.#resolvePlace(address));
  }

  get #name(): string {
    const { buildId, position } = this.#identity;
    const file = this.#loaded === undefined ? "" : path.basename(this.#loaded.path);
    if (file !== "" && !NAMELESS_FILE.test(file)) return file;
    return buildId === "" ? `module ${position + 1}` : buildId.slice(0, SHORT_ID_DIGITS);
  }

  #resolvePlace(address: number): CodePlace {
    const { index: module } = this.#identity;
    const unnamed = { module: this, frames: [{ module, offset: address }], isMain: false };
    if (this.#loaded === undefined) return { ...unnamed, isRuntime: true };
    this.#symbols ??= loadSymbolizer(this.#loaded, { finder: this.#finder, useSymbolTable: false });
    const chain: readonly SourceFrame[] = this.#symbols.frames(address);
    const [innermost] = chain;
    if (innermost?.linkageName !== undefined && innermost.linkageName !== "") {
      this.#knowledge = "lines";
      return {
        module: this,
        frames: this.#framesOf(chain),
        isRuntime: isInRuntime(innermost),
        isMain: this.isProgram && chain.at(-1)!.linkageName === "main",
      };
    }
    const symbol = this.#symbols.symbolizer.symbolAt(address)?.name;
    // A leaf without a name in a known library belongs to that library. MemProf's runtime is in the program, or has
    // symbols.
    if (!symbol) return { ...unnamed, isRuntime: this.isProgram };
    if (this.#knowledge === "nothing") this.#knowledge = "functions";
    return {
      module: this,
      frames: [{ module, name: loadDemangler()(symbol), offset: 0 }],
      isRuntime: ALLOCATION.test(symbol),
      isMain: this.isProgram && symbol === "main",
    };
  }

  #framesOf(chain: readonly SourceFrame[]): ResolvedFrame[] {
    const { index: module } = this.#identity;
    return chain.map(({ linkageName, file, line, column, startLine }, depth) => ({
      module,
      name: linkageName === undefined ? undefined : loadDemangler()(linkageName),
      offset: 0,
      file,
      line,
      column,
      startLine,
      inlined: depth < chain.length - 1,
    }));
  }
}

const LEFT_OUT = "Blocks allocated only by code without debug information are missing in this format.";

/**
 * Reads the heap profile in a raw file without a run, an indexed file, a memshade profile or YAML. Undefined for
 * other files.
 *
 * @param binaryPaths programs and libraries, and folders with such files
 * @throws UserError naming the file
 */
export async function memprofHeapProfile(
  file: string,
  binaryPaths: readonly string[] = [],
): Promise<HeapProfile | undefined> {
  const start = startOf(file);
  const isRaw = isMemprofRaw(start);
  // Texts of gperftools and Go begin with `--- contention` and similar lines.
  const isYaml = isMemprofYaml(start) && !/^--- \w/.test(String.fromCharCode(...start));
  if (!isRaw && !isIndexedProfile(start) && !isMemshadeProfile(start) && !isYaml) return undefined;
  const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const binaries = binaryPaths.filter((path) => !isFolder(path));
  const isOfModules = isMemshadeProfile(start);
  const places = {
    binaries: isOfModules || isRaw ? binaries : [],
    searchPaths: isOfModules || isRaw ? binaryPaths.filter(isFolder) : [],
  };
  if (isRaw) return withFile(file, (source) => explained(file, () => rawHeapProfile(file, source, places)));
  const merger = new InputMerger(places, {
    fields: MIB_FIELDS,
    keepsSources: true,
    keepsUnresolved: true,
  });
  await merger.add({ path: file, modules: [] }, 0);
  const { profile, origin } = merger.take();
  const notTracked = isOfModules ? [] : [LEFT_OUT];
  if (isOfModules && origin.unmatched.length > 0) {
    const count = origin.unmatched.length;
    notTracked.push(`Frames in ${counted(count, "module")} without a binary are shown as [build id]+offset.`);
  }
  const nameless = new Set(
    [...profile.frames.guid].filter((_, frame) => (profile.frames.source?.name[frame] ?? -1) < 0),
  );
  const withNames = isOfModules
    ? binaries
    : [...binaries, ...binaryPaths.filter(isFolder).flatMap(objectsIn)];
  const functions = nameless.size === 0 ? new Map() : findFunctions(withNames, nameless);
  const unnamed = nameless.size - functions.size;
  if (unnamed > 0) {
    const guidOnly = counted(unnamed, "function is known by its GUID", "functions are known by their GUID");
    notTracked.push(
      withNames.length === 0
        ? `${guidOnly} only: give the program with debug information with --binary-path.`
        : `${guidOnly} only: the files of --binary-path have no debug information for ${agreeing(unnamed, "it", "them")}.`,
    );
  }
  if (profile.records.allocStack.length === 0 && profile.records.length === 0)
    notTracked.push("This profile is empty.");
  return heapProfileFromMemprof(profile, {
    version: versionOf(file, start),
    notTracked,
    demangle: loadDemangler(),
    functionOf: (guid) => functions.get(guid),
  });
}

function objectsIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter(isObject)
    .sort();
}

function isObject(file: string): boolean {
  try {
    const magic = new TextDecoder("latin1").decode(startOf(file).subarray(0, 4));
    return magic === "\u007fELF" || magic === "\0asm";
  } catch (error) {
    // A file that the user did not name may be unreadable.
    if (error instanceof UserError) return false;
    throw error;
  }
}

/** Returns the first bytes of a file; the rest is read in pieces on demand. */
function startOf(file: string): Uint8Array {
  return withFile(file, (source) => source.read(0, MAGIC_BYTES));
}

function withFile<T>(file: string, use: (source: ByteSource) => T): T {
  const source = openFile(file);
  try {
    return use(source);
  } finally {
    source.close();
  }
}

function versionOf(file: string, start: Uint8Array): number {
  return isIndexedProfile(start) ? withFile(file, (source) => readContainer(source).version) : 0;
}

/** Code outside of all modules: generated at run time, or a wrong value in a stack without frame pointers. */
const UNKNOWN_CODE: CodePlace = {
  frames: [{ name: "[unknown code]", offset: 0 }],
  isRuntime: false,
  isMain: false,
};

/** Collects the contexts of dumps. Contexts with the same call path are merged. */
class DumpRows {
  repeatedDumps = 0;
  /** Number of contexts with a size of 0. No block has that size, since a request for 0 bytes gets one byte. */
  sizeless = 0;
  readonly #code: CodeModules;
  readonly #modules: ProfileModule[] = [];
  readonly #description: { -readonly [Key in keyof ProfileDescription]: ProfileDescription[Key] } = {
    clock: { kind: "wall", unit: "ms" },
    granuleBytes: 8,
    rawVersion: 0,
    notTracked: [],
  };
  readonly #builder = new HeapProfileBuilder(this.#description, this.#modules);
  readonly #mibs = new GrowingMibColumns();
  readonly #rowOf = new Map<number, number>();
  #rows = 0;
  #lastProcess: readonly RawSegment[] | undefined;
  #processes = 0;

  constructor(code: CodeModules) {
    this.#code = code;
  }

  /** Dumps of one process are consecutive. */
  add(dump: RawScan): void {
    if (this.#lastProcess !== undefined && haveEqualSegments(this.#lastProcess, dump.segments))
      this.repeatedDumps++;
    else this.#processes++;
    this.#lastProcess = dump.segments;
    const places = new ProcessPlaces(this.#code, dump.segments, this.#processes);
    // The program is listed before its libraries.
    if (dump.length > 0 && dump.segments.length > 0) this.#code.at(dump.segments[0]!, 0, this.#processes);
    const isNative = areOfSystem(dump.segments);
    const mibBytes = mibBytesOf(dump.version);
    const cursor = dump.contexts();
    while (cursor.next()) {
      const mib = mibFromPacked(cursor.mib, cursor.mibAt, mibBytes);
      const histogram = cursor.histogram();
      if (histogram !== undefined) mib.histogram = [...histogram];
      if (mib.allocCount > 0 && mib.minSize === 0) this.sizeless++;
      const path = places.pathOf(cursor);
      const stack = this.#stackOf(isNative ? withoutEnds(path) : path);
      const row = this.#rowOf.get(stack);
      if (row !== undefined && this.#mibs.combine(row, mib)) continue;
      this.#rowOf.set(stack, this.#rows++);
      this.#builder.addStack(BigInt(this.#rows), stack);
      this.#mibs.add(mib);
    }
  }

  build(description: ProfileDescription): HeapProfile {
    Object.assign(this.#description, description);
    this.#modules.push(...this.#code.modules.map((module) => module.describe()));
    return this.#builder.build(this.#mibs.build());
  }

  #stackOf(path: readonly CodePlace[]): number {
    let stack = 0;
    for (let index = path.length - 1; index >= 0; index--) {
      const { module, frames } = path[index]!;
      if (module !== undefined) module.isShown = true;
      for (let depth = frames.length - 1; depth >= 0; depth--)
        stack = this.#builder.child(stack, frames[depth]!);
    }
    return stack;
  }
}

/** Removes the runtime's allocation function, unless it is the only frame, and the callers of `main`. */
function withoutEnds(path: readonly CodePlace[]): readonly CodePlace[] {
  const main = path.findIndex(({ isMain }) => isMain);
  const end = main < 0 ? path.length : main + 1;
  return path.slice(end > 1 && path[0]!.isRuntime ? 1 : 0, end);
}

/** True for modules of a program for an operating system; every WebAssembly module begins at a multiple of 4 GiB. */
function areOfSystem(segments: readonly RawSegment[]): boolean {
  return segments.some(({ start, offset }) => start !== offset || (start & 0xffff_ffffn) !== 0n);
}

class ProcessPlaces {
  readonly #code: CodeModules;
  readonly #processNumber: number;
  readonly #segments: readonly { readonly segment: RawSegment; readonly position: number }[];
  readonly #places = new Map<number, CodePlace>();

  constructor(code: CodeModules, segments: readonly RawSegment[], processNumber: number) {
    this.#code = code;
    this.#processNumber = processNumber;
    this.#segments = segments
      .map((segment, position) => ({ segment, position }))
      .sort((a, b) => Number(a.segment.start - b.segment.start));
  }

  /** Innermost first. */
  pathOf({ pcs, pcsAt, depth }: RawCursor): CodePlace[] {
    const path: CodePlace[] = [];
    for (let at = pcsAt; at < pcsAt + 8 * depth; at += 8) path.push(this.#at(getU64(pcs, at)));
    return path;
  }

  #at(pc: number): CodePlace {
    return entryOf(this.#places, pc, () => this.#find(pc));
  }

  /** A PC is after the start of its segment, and at most at its end. */
  #find(pc: number): CodePlace {
    const segments = this.#segments;
    const next = partitionPoint(0, segments.length, (index) => Number(segments[index]!.segment.start) < pc);
    const last = segments[next - 1];
    if (last === undefined || pc > Number(last.segment.end)) return UNKNOWN_CODE;
    const module = this.#code.at(last.segment, last.position, this.#processNumber);
    return module.placeAt(pc + module.shiftOf(last.segment));
  }
}

/** Limit of MemProf's granule counters, per block. */
const COUNTER_LIMIT = 255;

/** Number of build ids of missing modules that a message lists. */
const MOST_TOLD = 4;

/**
 * Tables of a raw profile without a run. They have all of its blocks; a frame without a name is shown as its
 * address. Each dump is read with its own segments, since a file may have dumps of several processes.
 *
 * @param file its name; binaries are searched beside it too
 * @throws UserError if the named binaries belong to other programs, and the right one was not found
 */
function rawHeapProfile(file: string, source: ByteSource, places: BinaryPlaces): HeapProfile {
  const dumps = scanDumps(source);
  const named = new ProfiledBinaries(places);
  const installed = new InstalledObjects([dirname(file), "."]);
  const code = new CodeModules(named, installed, places.searchPaths);
  const rows = new DumpRows(code);
  for (const dump of dumps) rows.add(dump);
  const missing = code.modules.filter(({ isFound, isShown }) => !isFound && isShown);
  const areNamed = places.binaries.length + places.searchPaths.length > 0;
  const isNamedInVain = areNamed && code.modules.length > 0 && !code.modules.some(({ isNamed }) => isNamed);
  if (isNamedInVain && missing.some(({ isProgram }) => isProgram)) {
    const buildIds = missing.map((module) => module.describe().buildId || "<None>");
    throw new UserError(noBinary(buildIds, named));
  }
  const isNative = dumps.some(({ segments }) => areOfSystem(segments));
  return rows.build({
    clock: { kind: "wall", unit: "ms" },
    granuleBytes: 8,
    rawVersion: lastVersion(source),
    ...(isNative ? { counterLimit: COUNTER_LIMIT } : {}),
    notTracked: [
      ...(isNative ? [] : [NO_RUN]),
      ...(isNamedInVain
        ? [
            "The files of --binary-path are not modules of this profile: names come from binaries found elsewhere.",
          ]
        : []),
      ...missingInWords(missing.map((module) => ({ ...module.describe(), isProgram: module.isProgram }))),
      ...(rows.repeatedDumps === 0
        ? []
        : [
            "The profile has several dumps of one process: a block that was live at a dump counts in that dump and again later.",
          ]),
      ...(rows.sizeless > 0
        ? [
            `MemProf records sizes modulo 4 GiB: ${counted(rows.sizeless, "call path has a block", "call paths have blocks")} ` +
              "of 4 GiB or a multiple, recorded as 0 B.",
          ]
        : []),
      "Peak and leaks are not known: MemProf does not record them.",
      ...(dumps.every(({ length }) => length === 0) ? ["This profile is empty."] : []),
    ],
  });
}

const NO_RUN =
  "This raw profile has no run.json: functions without names are shown as [build id]+offset, and times are taken " +
  "as milliseconds.";

function missingInWords(missing: readonly (ProfileModule & { readonly isProgram: boolean })[]): string[] {
  const list = (modules: readonly ProfileModule[]) => {
    const buildIds = modules.slice(0, MOST_TOLD).map(({ buildId }) => buildId || "none");
    const more = modules.length > MOST_TOLD ? ` and ${modules.length - MOST_TOLD} more` : "";
    return buildIds.join(", ") + more;
  };
  const programs = missing.filter(({ isProgram }) => isProgram);
  const libraries = missing.filter(({ isProgram }) => !isProgram);
  return [
    ...(programs.length === 0
      ? []
      : [
          `${counted(programs.length, "program was", "programs were")} not found (build id ${list(programs)}): ` +
            "functions are shown as [build id]+offset. Give the program or its folder with --binary-path.",
        ]),
    ...(libraries.length === 0
      ? []
      : [
          `${counted(libraries.length, "library was", "libraries were")} not found (build id ${list(libraries)}): ` +
            "functions are shown as [build id]+offset. Give the library or its folder with --binary-path.",
        ]),
  ];
}

/** Maximum number of code addresses that are checked for inlined functions. */
const MOST_PLACES = 500_000;
const STEP_BYTES = 4;
const EXECUTABLE = 1;

/**
 * Finds names for the GUIDs of an indexed profile, which has no names, in the debug information of binaries.
 *
 * @param wanted GUIDs; the search ends when all are found
 */
function findFunctions(
  binaries: readonly string[],
  wanted: ReadonlySet<bigint>,
): ReadonlyMap<bigint, KnownFunction> {
  const found = new Map<bigint, KnownFunction>();
  for (const file of binaries) searchBinary(file, wanted, found);
  return found;
}

function searchBinary(file: string, wanted: ReadonlySet<bigint>, found: Map<bigint, KnownFunction>): void {
  const loaded = loadObject(file);
  const { object } = loaded;
  const symbolizer = loadSymbolizer(loaded, { useSymbolTable: false });
  const guids = new Map<string, bigint>();
  const lookAt = (address: number) => {
    for (const { linkageName: text, startFile, file: callFile, startLine } of symbolizer.frames(address)) {
      if (text === undefined || guids.has(text)) continue;
      const guid = functionGuid(text);
      guids.set(text, guid);
      if (wanted.has(guid)) found.set(guid, { name: text, file: startFile ?? callFile, startLine });
    }
  };
  const ranges =
    object.kind === "wasm"
      ? [{ address: 0, size: object.size }]
      : object.segments
          .filter(({ flags }) => (flags & EXECUTABLE) !== 0)
          .map(({ address, memorySize }) => ({ address, size: memorySize }));
  let remaining = MOST_PLACES;
  for (const { address, size } of ranges)
    for (let at = 0; at < size && remaining-- > 0 && found.size < wanted.size; at += STEP_BYTES)
      lookAt(address + at);
}
