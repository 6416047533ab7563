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

export interface DecodedUnit {
  /** Approximate memory that it takes now. */
  readonly sizeBytes: number;
  forget(): void;
}

/** Decoded units. If they become too large together, those decoded first are dropped. */
export class DecodedUnits {
  readonly #mostBytes: number;
  readonly #sizes = new Map<DecodedUnit, number>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

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
  /** Makes linker names readable; without it they stay unchanged. */
  readonly demangle?: Demangle;
  /** Linkage names (the default), names as in the source, or none. */
  readonly functions?: FunctionNames;
  /** Returns a frame for each inlined function; otherwise all are merged into one. True by default. */
  readonly inlines?: boolean;
  /** Part of a path that is returned: all (the default), without the compilation directory, or the last component. */
  readonly paths?: PathStyle;
  /** Replacements for starts of paths; the longest that fits is used. */
  readonly pathMap?: readonly PathMap[];
  /**
   * Names the outermost function by the symbol table, as llvm-symbolizer does; otherwise only by debug information,
   * as llvm-profdata does. True by default.
   */
  readonly useSymbolTable?: boolean;
  /** File with the debug information, if it is known in advance. */
  readonly debug?: ObjectFile | undefined;
  /** Adds the declarations of functions to frames. True by default. */
  readonly starts?: boolean;
  /** Uses the line of an earlier place for a place with line 0. */
  readonly skipLineZero?: boolean;
  /** Reads a source map, or throws a `FormatError` if it is damaged; without it, no source map is requested. */
  readonly readSourceMap?: (map: Uint8Array) => SourceMapLookup | undefined;
  /** Decompressors for files that are provided as bytes. */
  readonly decompressors?: Decompressors;
}

/**
 * Source position that a source map has for an offset in the module's file. If there is none, the nearest earlier
 * one from the offset `from` on, at which the function begins.
 */
export type SourceMapLookup = (fileOffset: number, from?: number) => SourcePlace | undefined;

export interface SourcePlace {
  readonly file: string;
  /** Line from 1; the column counts from 1 too. */
  readonly line: number;
  readonly column: number;
  /** True if this is the position of an earlier place, because the place itself has none. */
  readonly approximate?: boolean | undefined;
  /**
   * Position outside of the compiler's library, for a place in it: the nearest earlier one in the function. The
   * library code may be inlined there.
   */
  readonly outer?: SourcePlace | undefined;
}

/** Warning for a module whose debug information was made for other code. */
export const STALE =
  "The debug information does not match the code: functions begin where it has none. Names and lines may be " +
  "wrong. Pass -g to tools that change the module afterwards, such as wasm-opt.";

/** Maximum bytes of the size field before a function's code. */
const LONGEST_SIZE = 5;

/** Frame of a place without any information. */
export const UNKNOWN_FRAME: Frame = { line: 0, column: 0, discriminator: 0, startLine: 0, inlined: false };

/**
 * Maximum bytes of decoded line tables and functions. Most programs have less, so that nothing is decoded twice;
 * the largest ones must not fill the memory. (llvm-symbolizer has no such limit: its 4 GiB are for cached files.)
 */
const MOST_BYTES = 512 << 20;

/**
 * Maps addresses in one object to functions, files and lines.
 *
 * A symbolizer reads no files. `needs()` lists files that it lacks, at first and after each lookup that found new
 * references; `provide` supplies a file, and later lookups use it. Damaged debug information never throws: results
 * then contain less, and `problems` lists the damage.
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
  /** Units that wait for their split half, by the key of the request. */
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

  /** Files that would improve the results, as far as they were not provided or declared absent. */
  needs(): FileRequest[] {
    return [...this.#requests.values()];
  }

  /** True if any debug information was found, in the object or in provided files. */
  get hasDebugInfo(): boolean {
    return this.#dwarfFile().info.bytes.length > 0 || this.#sourceMap !== undefined;
  }

  /** True if units have their larger half in another file, as far as can be read. */
  get isSplit(): boolean {
    return this.#guarded(() => this.#dwarfFile().units.some(isSkeleton)) ?? false;
  }

  get problems(): readonly FormatError[] {
    const dwarf = this.#dwarf?.problems ?? [];
    return [...this.#problems, ...this.object.problems, ...dwarf, ...(this.#package?.problems ?? [])];
  }

  /**
   * Returns the symbol that covers an address, by the object's symbol table.
   *
   * @param onlyGlobal true if local symbols may be left out
   */
  symbolAt(address: number, onlyGlobal = false): ObjectSymbol | undefined {
    const symbol = this.object.symbolAt(address, onlyGlobal);
    // A file with debug information only adds stripped symbols, which are local.
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

  frames(address: number): Frame[] {
    return this.#framesAt(address, this.#options.inlines ?? true);
  }

  /** Returns one frame for an address: the innermost position, in the symbol table's function. */
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
      // The symbol's file is the fallback if there is no debug information at all.
      if (!isDescribed) last.file ??= symbol.file;
    }
    last.inlined = false;
    this.#finish(last);
    return frames;
  }

  /** Frames by debug information alone: empty if it has neither function nor line. */
  debugFrames(address: number): Frame[] {
    const frames = this.#unitFrames(address);
    for (const frame of frames) this.#finish(frame);
    const last = frames.at(-1);
    if (last !== undefined) last.inlined = false;
    return frames;
  }

  /**
   * True if debug information was made for other code: it has a function around an address of a wasm module that
   * the module does not have. False if it has no function there.
   */
  isStaleAt(address: number): boolean {
    const start = this.#unitFrames(address).at(-1)?.startAddress;
    const entry = this.object.functionAt?.(address);
    // The function may begin at its size field or after it.
    return (
      start !== undefined &&
      entry !== undefined &&
      (start < entry.address || start > entry.address + LONGEST_SIZE)
    );
  }

  /** Variables of the function at an address, and of functions inlined there; empty without debug information. */
  variables(address: number): LocalVariable[] {
    return (
      this.#guarded(() => {
        const unit = this.#unitIndex().find(address);
        return unit && this.#framesOf(unit).variablesAt(address);
      }) ?? []
    );
  }

  /** Returns the declaration of the variable at an address of data. Units are searched until one has it. */
  dataDeclaration(address: number): DataDeclaration | undefined {
    const coveringUnit = this.#guarded(() => this.#unitIndex().find(address));
    for (const unit of coveringUnit === undefined ? this.#dwarfFile().units : [coveringUnit]) {
      if (isTypeUnit(unit)) continue;
      const found = this.#guarded(() => this.#framesOf(unit).declarationOfData(address));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /**
   * Returns all variables with fixed addresses, unit by unit; a variable removed by the linker may have
   * address 0.
   */
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

  #namingSymbol(address: number, frames: readonly Frame[]): ReturnType<Symbolizer["symbolAt"]> {
    const { useSymbolTable = true, functions = "linkage" } = this.#options;
    if (!useSymbolTable || functions !== "linkage") return undefined;
    // Names in a wasm name section are partly demangled; only those of exports are linker names.
    const onlyGlobal = this.object.kind === "wasm" && frames.at(-1)!.linkageName !== undefined;
    const symbol = this.symbolAt(address, onlyGlobal);
    return onlyGlobal && symbol?.binding !== "global" ? undefined : symbol;
  }

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

  #request(request: FileRequest): void {
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
        this.#request({
          kind: "debug-file",
          ...(buildId === undefined ? {} : { buildId }),
          ...(debugLink === undefined ? {} : debugLink),
        });
      if (externalDebugInfo !== undefined)
        this.#request({ kind: "external-debug-info", name: externalDebugInfo });
      if (sourceMappingUrl !== undefined && this.#options.readSourceMap !== undefined)
        this.#request({ kind: "source-map", name: sourceMappingUrl });
      if (miniDebugInfo !== undefined) this.#request({ kind: "mini-debug-info", compressed: miniDebugInfo });
    }
  }

  #askForShared(): void {
    const link = this.#debugObject.debugAltLink;
    if (link !== undefined) this.#request({ kind: "shared-debug-file", ...link });
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
    if (this.#answered.has("dwp")) this.#request(request);
    else this.#request({ kind: "dwp" });
  }

  /** Requests the units' own files, once it is known that no package file has them. */
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
    // The map has the file of the inlined code, but not its function.
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

/**
 * File that would improve the results. The symbolizer opens no files: its user finds them, or declares them absent.
 */
export type FileRequest =
  /** Debug information of the object: by build id, else by the name in `.gnu_debuglink`. */
  | {
      readonly kind: "debug-file";
      readonly buildId?: string;
      readonly name?: string;
      readonly crc32?: number;
    }
  /** Debug information shared by several objects (`.gnu_debugaltlink`). */
  | { readonly kind: "shared-debug-file"; readonly name: string; readonly buildId: string }
  /** Wasm module with the debug information: a URL or a path, relative to the module's. */
  | { readonly kind: "external-debug-info"; readonly name: string }
  /** Source map: a URL or a path, relative to the module's, or a `data:` URL. */
  | { readonly kind: "source-map"; readonly name: string }
  /** Package with all split units of the object: its path plus `.dwp`. */
  | { readonly kind: "dwp" }
  | {
      readonly kind: "dwo";
      readonly name: string;
      readonly compilationDirectory: string;
      readonly id: string;
    }
  /** Further symbols: the content of `.gnu_debugdata`, which must be decompressed (xz). */
  | { readonly kind: "mini-debug-info"; readonly compressed: Uint8Array };

/** Answer to a request: the file, open or as bytes; undefined if there is none. */
export type ProvidedFile = ObjectFile | Uint8Array | undefined;

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
