import { DwarfFile, isTypeUnit, type PathStyle, type Unit, UnitIndex } from "../../code/dwarf/index.ts";
import {
  type Decompressors,
  type ObjectFile,
  type ObjectSymbol,
  openObject,
} from "../../code/objects/index.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import type { StaticVariable } from "../../profile/model/statics.ts";
import type { Demangle } from "./demangle.ts";
import type { Frame, GrowingFrame } from "./frame.ts";
import { mapPath, type PathMap } from "./path-map.ts";
import { type FunctionNames, UnitFrames } from "./unit-frames.ts";
import type { DataDeclaration, LocalVariable } from "./variables.ts";

/** What was decoded of a unit, and can be decoded again. */
export interface DecodedUnit {
  /** Memory that it takes now, roughly. */
  readonly sizeBytes: number;
  forget(): void;
}

/** The units that are decoded. When they have become too large together, those that were decoded first are forgotten. */
export class DecodedUnits {
  readonly #mostBytes: number;
  /** In the order in which they were decoded, with the bytes that each is counted with. */
  readonly #sizes = new Map<DecodedUnit, number>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Counts what is decoded of a unit that was asked for something, and makes room for it. */
  count(unit: DecodedUnit): void {
    const { sizeBytes } = unit;
    const counted = this.#sizes.get(unit);
    if (counted === sizeBytes) return;
    this.#sizes.set(unit, sizeBytes);
    this.#bytes += sizeBytes - (counted ?? 0);
    if (this.#bytes <= this.#mostBytes) return;
    for (const [other, bytes] of this.#sizes) {
      if (other === unit) continue;
      other.forget();
      this.#sizes.delete(other);
      this.#bytes -= bytes;
      if (this.#bytes <= this.#mostBytes / 2) return;
    }
  }

  clear(): void {
    this.#sizes.clear();
    this.#bytes = 0;
  }
}

export interface SymbolizerOptions {
  /** Makes names for people out of the linker's; without it they stay what they are. */
  readonly demangle?: Demangle;
  /** Linkage names (the default), names as in the source, or none. */
  readonly functions?: FunctionNames;
  /** Whether there is a frame for each inlined function; without them all is in one. True by default. */
  readonly inlines?: boolean;
  /** How much of a path is given: all (the default), without the compilation directory, or the last part. */
  readonly paths?: PathStyle;
  /** Replacements for starts of paths, the first that fits counts. */
  readonly pathMap?: readonly PathMap[];
  /**
   * Whether the symbol table names the outermost function, as in llvm-symbolizer; without it only debug information
   * does, as in llvm-profdata. True by default.
   */
  readonly useSymbolTable?: boolean;
  /** The file with the debug information, where it is known before it is asked for. */
  readonly debug?: ObjectFile | undefined;
  /** Whether frames say where their functions are declared. True by default. */
  readonly starts?: boolean;
  /** Takes the line of an earlier place where one has line 0. */
  readonly skipLineZero?: boolean;
  /** Reads a source map, or throws a `FormatError` where it is damaged; without it none is asked for. */
  readonly readSourceMap?: (map: Uint8Array) => SourceMapLookup | undefined;
  /** For files that are provided as bytes. */
  readonly decompressors?: Decompressors;
}

/**
 * The place in a source that a source map knows for an offset in the module's file; where it knows none, the nearest earlier one from the
 * offset `from` on, at which the function begins.
 */
export type SourceMapLookup = (fileOffset: number, from?: number) => SourcePlace | undefined;

export interface SourcePlace {
  readonly file: string;
  /** From 1, as the column. */
  readonly line: number;
  readonly column: number;
  /** The place is an earlier one: this one has none. */
  readonly approximate?: boolean | undefined;
  /** For a place of the compiler's library: the nearest earlier one in the function that is not, to which the code is inlined if at all. */
  readonly outer?: SourcePlace | undefined;
}

/** Bytes of the size in front of a function's code. */
const LONGEST_SIZE = 5;

/** A place of which nothing is known. */
export const UNKNOWN_FRAME: Frame = { line: 0, column: 0, discriminator: 0, startLine: 0, inlined: false };

/**
 * Bytes of line tables and functions that stay decoded. Most programs have fewer, and nothing of them is decoded twice; the
 * largest ones must not fill the memory. (llvm-symbolizer has no such bound: its 4 GiB are for the files that it keeps.)
 */
const MOST_BYTES = 512 << 20;

/**
 * Tells functions, files and lines of addresses in one object.
 *
 * It reads no files. What it would like to have besides the object is in `needs()`, at first and after each lookup that
 * met something new; `provide` hands it over, and later answers use it. Damaged debug information never throws: answers
 * then contain less, and `problems` says why.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { openObject, Symbolizer } from "memshade";
 *
 * const symbolizer = new Symbolizer(openObject(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)));
 * const [frame] = symbolizer.frames(0x40);
 * assert.equal(frame?.line, 0);
 * assert.deepEqual(symbolizer.needs(), []);
 * ```
 */
export class Symbolizer {
  readonly object: ObjectFile;
  readonly #options: SymbolizerOptions;
  readonly #requests = new Map<string, FileRequest>();
  readonly #answered = new Set<string>();
  readonly #units = new Map<Unit, UnitFrames>();
  /** Units whose split half is awaited, by the key of the request. */
  readonly #awaiting = new Map<string, Set<UnitFrames>>();
  readonly #decoded = new DecodedUnits(MOST_BYTES);
  readonly #problems: FormatError[] = [];
  #debugObject: ObjectFile;
  #dwarf: DwarfFile | undefined;
  #index: UnitIndex | undefined;
  #package: DwarfFile | undefined;
  #moreSymbols: ObjectFile | undefined;
  #sourceMap: SourceMapLookup | undefined;

  constructor(object: ObjectFile, options: SymbolizerOptions = {}) {
    this.object = object;
    this.#debugObject = object;
    this.#options = options;
    if (options.debug === undefined) this.#askForDebugFile();
    else this.#useDebugObject(options.debug);
  }

  /** Files that would make answers better and have not been answered. */
  needs(): FileRequest[] {
    return [...this.#requests.values()];
  }

  /** Whether any debug information has been found, in the object or what was provided. */
  get hasDebugInfo(): boolean {
    return this.#dwarfFile().info.bytes.length > 0 || this.#sourceMap !== undefined;
  }

  /** Whether units have their larger half in another file, as far as can be read. */
  get isSplit(): boolean {
    return this.#guarded(() => this.#dwarfFile().units.some(isSkeleton)) ?? false;
  }

  /** What was found to be damaged so far. */
  get problems(): readonly FormatError[] {
    const dwarf = this.#dwarf?.problems ?? [];
    return [...this.#problems, ...this.object.problems, ...dwarf, ...(this.#package?.problems ?? [])];
  }

  /**
   * The symbol that covers an address, by the object's symbol table.
   *
   * @param onlyGlobal whether others are of no use: they may be left out then
   */
  symbolAt(address: number, onlyGlobal = false): ObjectSymbol | undefined {
    const symbol = this.object.symbolAt(address, onlyGlobal);
    // What a file with debug information adds are symbols that were stripped: local ones.
    return symbol ?? (onlyGlobal ? undefined : this.#moreSymbols?.symbolAt(address));
  }

  /** Answers a request; a file that is no object counts as absent. */
  provide(request: FileRequest, file: ProvidedFile): void {
    const key = keyOf(request);
    this.#requests.delete(key);
    this.#answered.add(key);
    if (file === undefined) {
      if (request.kind === "dwp") this.#askForSplitUnits();
      return;
    }
    if (request.kind === "source-map") {
      if (file instanceof Uint8Array)
        this.#sourceMap = this.#guarded(() => this.#options.readSourceMap?.(file));
      return;
    }
    const object = this.#open(file);
    if (object === undefined) return;
    switch (request.kind) {
      case "debug-file":
      case "external-debug-info":
        if (object.section(".debug_info") === undefined && object.symbols().length === 0) return;
        this.#useDebugObject(object);
        return;
      case "shared-debug-file":
        this.#dwarfFile().shared = new DwarfFile(object);
        this.#units.clear();
        return;
      case "mini-debug-info":
        this.#moreSymbols = object;
        return;
      case "dwp":
        this.#package = new DwarfFile(object, true);
        this.#askForSplitUnits();
        return;
      case "dwo":
        this.#useSplitFile(key, BigInt(`0x${request.id}`), new DwarfFile(object, true));
        return;
      default:
        request satisfies never;
    }
  }

  #useDebugObject(object: ObjectFile): void {
    this.#debugObject = object;
    this.#moreSymbols ??= object;
    this.#dwarf = undefined;
    this.#index = undefined;
    this.#units.clear();
    this.#decoded.clear();
    this.#askForShared();
  }

  /** Frames at an address, innermost first: at least one, whose function may be unknown. */
  frames(address: number): Frame[] {
    return this.#framesAt(address, this.#options.inlines ?? true);
  }

  /** One frame for an address: the innermost place, in the function that the symbol table has there. */
  place(address: number): Frame {
    return this.#framesAt(address, false)[0];
  }

  #framesAt(address: number, inlines: boolean): Frame[] {
    let frames = this.#unitFrames(address);
    const isDescribed = frames.length > 0;
    if (!isDescribed) frames = this.#fromSourceMap(address);
    const symbol = this.#namingSymbol(address, frames);
    if (!inlines) frames.length = 1;
    const outermost = frames.length - 1;
    for (let index = 0; index < outermost; index++) this.#finish(frames[index]);
    const last = frames[outermost];
    if (symbol !== undefined) {
      last.linkageName = symbol.name;
      last.startAddress = symbol.address;
      // The symbol's file stands in where there is no debug information at all.
      if (!isDescribed) last.file ??= symbol.file;
    }
    last.inlined = false;
    this.#finish(last);
    return frames;
  }

  /** Frames by debug information alone: none where it knows neither function nor line. */
  debugFrames(address: number): Frame[] {
    const frames = this.#unitFrames(address);
    for (const frame of frames) this.#finish(frame);
    const last = frames.at(-1);
    if (last !== undefined) last.inlined = false;
    return frames;
  }

  /**
   * Whether debug information has another function around an address of a wasm module than the module has: it was made for other code.
   * False where it has none there.
   */
  isStaleAt(address: number): boolean {
    const start = this.#unitFrames(address).at(-1)?.startAddress;
    const entry = this.object.functionAt?.(address);
    // The function begins at the size in front of its code, or behind that.
    return (
      start !== undefined &&
      entry !== undefined &&
      (start < entry.address || start > entry.address + LONGEST_SIZE)
    );
  }

  /** Variables of the function at an address, and of what is inlined there: none without debug information. */
  variables(address: number): LocalVariable[] {
    return (
      this.#guarded(() => {
        const unit = this.#unitIndex().find(address);
        return unit && this.#framesOf(unit).variablesAt(address);
      }) ?? []
    );
  }

  /** Where the variable at an address of data is declared. All units are looked at until one knows. */
  dataDeclaration(address: number): DataDeclaration | undefined {
    const around = this.#guarded(() => this.#unitIndex().find(address));
    for (const unit of around === undefined ? this.#dwarfFile().units : [around]) {
      if (isTypeUnit(unit)) continue;
      const found = this.#guarded(() => this.#framesOf(unit).declarationOfData(address));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** All variables that have addresses of their own, unit by unit; what linkers have left out may be at address 0. */
  dataVariables(): StaticVariable[] {
    const { demangle, pathMap } = this.#options;
    const found: StaticVariable[] = [];
    for (const unit of this.#dwarfFile().units) {
      if (isTypeUnit(unit)) continue;
      this.#guarded(() => {
        for (const variable of this.#framesOf(unit).dataVariables()) {
          const { linkageName, file } = variable;
          const isMangled = linkageName !== undefined && demangle !== undefined;
          found.push({
            ...variable,
            name: isMangled ? demangle(linkageName) : variable.name,
            file: file === undefined || pathMap === undefined ? file : mapPath(file, pathMap),
          });
        }
      });
    }
    return found;
  }

  #guarded<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.#problems.push(error);
      return undefined;
    }
  }

  /** The symbol that names the outermost function, if one does. */
  #namingSymbol(address: number, frames: readonly Frame[]): ReturnType<Symbolizer["symbolAt"]> {
    const { useSymbolTable = true, functions = "linkage" } = this.#options;
    if (!useSymbolTable || functions !== "linkage") return undefined;
    // Names in a wasm name section are demangled in part; only those of exports are the linker's.
    const onlyGlobal = this.object.kind === "wasm" && frames.at(-1)!.linkageName !== undefined;
    const symbol = this.symbolAt(address, onlyGlobal);
    return onlyGlobal && symbol?.binding !== "global" ? undefined : symbol;
  }

  /** Names and paths as they are wanted. */
  #finish(frame: GrowingFrame): void {
    const { demangle, pathMap, functions } = this.#options;
    if (functions === "none") frame.linkageName = undefined;
    const name = frame.linkageName;
    frame.function = demangle === undefined || name === undefined ? name : demangle(name);
    if (pathMap !== undefined && frame.file !== undefined) frame.file = mapPath(frame.file, pathMap);
  }

  #unitFrames(address: number): GrowingFrame[] {
    try {
      const unit = this.#unitIndex().find(address);
      if (unit === undefined) return [];
      const frames = this.#framesOf(unit);
      const result = frames.at(address, this.object.codeSectionAt?.(address));
      this.#decoded.count(frames);
      return result;
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.#problems.push(error);
      return [];
    }
  }

  #framesOf(unit: Unit): UnitFrames {
    let frames = this.#units.get(unit);
    if (frames === undefined) {
      frames = new UnitFrames(unit, {
        functions: this.#options.functions ?? "linkage",
        paths: this.#options.paths ?? "absolute",
        skipLineZero: this.#options.skipLineZero ?? false,
        // Whether debug information is stale is seen by where functions of a module begin.
        starts: (this.#options.starts ?? true) || this.object.kind === "wasm",
      });
      this.#units.set(unit, frames);
      this.#findSplitUnit(frames);
    }
    return frames;
  }

  #dwarfFile(): DwarfFile {
    this.#dwarf ??= new DwarfFile(this.#debugObject);
    return this.#dwarf;
  }

  #unitIndex(): UnitIndex {
    this.#index ??= new UnitIndex(this.#dwarfFile());
    return this.#index;
  }

  #open(file: ObjectFile | Uint8Array): ObjectFile | undefined {
    if (!(file instanceof Uint8Array)) return file;
    try {
      return openObject(file, this.#options.decompressors);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.#problems.push(error);
      return undefined;
    }
  }

  #ask(request: FileRequest): void {
    const key = keyOf(request);
    if (!this.#answered.has(key)) this.#requests.set(key, request);
  }

  #askForDebugFile(): void {
    const { object } = this;
    const has = (name: string) =>
      object.sections.some((section) => section.name === name || section.name === `.z${name.slice(1)}`);
    if (has(".debug_info")) this.#askForShared();
    else {
      const { buildId, debugLink, externalDebugInfo, sourceMappingUrl, miniDebugInfo } = object;
      if (object.kind === "elf" && (buildId !== undefined || debugLink !== undefined))
        this.#ask({
          kind: "debug-file",
          ...(buildId === undefined ? {} : { buildId }),
          ...(debugLink === undefined ? {} : debugLink),
        });
      if (externalDebugInfo !== undefined)
        this.#ask({ kind: "external-debug-info", name: externalDebugInfo });
      if (sourceMappingUrl !== undefined && this.#options.readSourceMap !== undefined)
        this.#ask({ kind: "source-map", name: sourceMappingUrl });
      if (miniDebugInfo !== undefined) this.#ask({ kind: "mini-debug-info", compressed: miniDebugInfo });
    }
  }

  #askForShared(): void {
    const link = this.#debugObject.debugAltLink;
    if (link !== undefined) this.#ask({ kind: "shared-debug-file", ...link });
  }

  #findSplitUnit(frames: UnitFrames): void {
    const { dwoName, dwoId } = frames.unit.attributes;
    if (dwoName === undefined || dwoId === undefined) return;
    const split = this.#package?.splitUnit(dwoId);
    if (split !== undefined) {
      frames.useSplitUnit(split);
      return;
    }
    const id = dwoId.toString(16).padStart(16, "0");
    const { compilationDirectory } = frames.unit.attributes;
    const request: FileRequest = { kind: "dwo", name: dwoName, compilationDirectory, id };
    const waiting = this.#awaiting.get(keyOf(request)) ?? new Set();
    this.#awaiting.set(keyOf(request), waiting.add(frames));
    if (this.#answered.has("dwp")) this.#ask(request);
    else this.#ask({ kind: "dwp" });
  }

  /** Once it is clear whether there is a package file: those that are not in it have files of their own. */
  #askForSplitUnits(): void {
    for (const waiting of [...this.#awaiting.values()])
      for (const frames of waiting) this.#findSplitUnit(frames);
  }

  #useSplitFile(key: string, id: bigint, file: DwarfFile): void {
    const split = file.splitUnit(id);
    if (split === undefined) return;
    for (const frames of this.#awaiting.get(key) ?? []) frames.useSplitUnit(split);
    this.#awaiting.delete(key);
  }

  #fromSourceMap(address: number): GrowingFrame[] {
    const { codeOffset } = this.object;
    if (codeOffset === undefined || this.#sourceMap === undefined) return [{ ...UNKNOWN_FRAME }];
    const symbol = this.symbolAt(address);
    const from = symbol === undefined ? undefined : codeOffset + symbol.address;
    const found = this.#sourceMap(codeOffset + address, from);
    if (found === undefined) return [{ ...UNKNOWN_FRAME }];
    const { outer, ...place } = found;
    const frames = [{ ...UNKNOWN_FRAME, ...place }];
    if (outer === undefined || symbol?.name.startsWith("~lib/")) return frames;
    // The map does not say which function is inlined, but which file it is in.
    const inlined = {
      ...frames[0]!,
      linkageName: /~lib\/.*?(?=\.\w+$)/.exec(place.file)?.[0],
      inlined: true,
    };
    return [inlined, { ...UNKNOWN_FRAME, ...outer }];
  }
}

function isSkeleton({ attributes }: Unit): boolean {
  return attributes.dwoName !== undefined;
}

/** A file that would make answers better. The symbolizer opens none: whoever uses it finds them, or says that they are absent. */
export type FileRequest =
  /** The object's debug information: by build id, else by the name in `.gnu_debuglink`. */
  | {
      readonly kind: "debug-file";
      readonly buildId?: string;
      readonly name?: string;
      readonly crc32?: number;
    }
  /** Debug information that several objects share (`.gnu_debugaltlink`). */
  | { readonly kind: "shared-debug-file"; readonly name: string; readonly buildId: string }
  /** The wasm module with the debug information: a URL or a path, relative to the module's. */
  | { readonly kind: "external-debug-info"; readonly name: string }
  /** A source map: a URL or a path, relative to the module's, or a `data:` URL. */
  | { readonly kind: "source-map"; readonly name: string }
  /** All split units of the object: its path with `.dwp` behind it. */
  | { readonly kind: "dwp" }
  /** One split unit. */
  | {
      readonly kind: "dwo";
      readonly name: string;
      readonly compilationDirectory: string;
      readonly id: string;
    }
  /** Further symbols: the content of `.gnu_debugdata`, to be decompressed (xz). */
  | { readonly kind: "mini-debug-info"; readonly compressed: Uint8Array };

/** An answer to a request: the file, open or as bytes; undefined if there is none. */
export type ProvidedFile = ObjectFile | Uint8Array | undefined;

/** Requests with the same key ask for the same file. */
function keyOf(request: FileRequest): string {
  switch (request.kind) {
    case "dwo":
      return `dwo ${request.id}`;
    case "external-debug-info":
    case "source-map":
      return `${request.kind} ${request.name}`;
    default:
      return request.kind;
  }
}
