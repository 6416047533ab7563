import path from "node:path";
import { fileURLToPath } from "node:url";
import { dwoCandidates } from "../../code/objects/index.ts";
import { grown, partitionPoint } from "../../ground/bytes/columns.ts";
import { attempt, dispensable } from "../../ground/bytes/dispensable.ts";
import { FormatError, UserError } from "../../ground/bytes/errors.ts";
import type { Frame } from "../symbolize/frame.ts";
import {
  type FileRequest,
  type ProvidedFile,
  type SourceMapLookup,
  type SourcePlace,
  Symbolizer,
  type SymbolizerOptions,
  UNKNOWN_FRAME,
} from "../symbolize/symbolizer.ts";
import type { DataDeclaration, LocalVariable, StaticVariable } from "../symbolize/variables.ts";
import { readWholeFile } from "./file.ts";
import { loadMiniDebugInfo } from "./mini-debug-info.ts";
import { type LoadedObject, loadObject, nodeDecompressors, ObjectFinder } from "./objects.ts";
import { damaged, type PlainMap, sourceMapSections, tracing } from "./source-map-parts.ts";

export interface FileSymbolizerOptions extends SymbolizerOptions {
  readonly finder?: ObjectFinder;
  /** Package with the split units, instead of the one beside the object. */
  readonly dwp?: string | undefined;
  /**
   * Receives damage to names and lines, as the end of a sentence that begins with the object's path. `missing` has
   * it too.
   */
  readonly reportDamage?: ((end: string) => void) | undefined;
}

/** Symbolizer of an object on this machine. It finds further files that it needs by itself. */
export interface FileSymbolizer {
  readonly path: string;
  readonly symbolizer: Symbolizer;
  frames(address: number): Frame[];
  variables(address: number): LocalVariable[];
  dataDeclaration(address: number): DataDeclaration | undefined;
  dataVariables(): StaticVariable[];
  /** Missing files and damage, as ends of sentences that begin with the object's path. */
  readonly missing: readonly string[];
  readonly damage: FormatError | undefined;
}

/**
 * Opens an object file for symbolization.
 *
 * @throws UserError in one line if the file does not exist or is no object
 */
export function loadSymbolizer(
  file: string | LoadedObject,
  options: FileSymbolizerOptions = {},
): FileSymbolizer {
  const loaded = typeof file === "string" ? loadObject(file) : file;
  const missing: string[] = [];
  const addDamage = (end: string): void => {
    missing.push(end);
    options.reportDamage?.(end);
  };
  const symbolizer = new Symbolizer(loaded.object, {
    decompressors: nodeDecompressors,
    readSourceMap: (map) => {
      try {
        return readSourceMap(map);
      } catch (error) {
        if (error instanceof FormatError) addDamage(`has a damaged source map: ${error.detail}`);
        throw error;
      }
    },
    ...options,
  });
  const finder = options.finder ?? new ObjectFinder();
  let debugFile: LoadedObject | undefined;
  const findFile = (request: FileRequest): ProvidedFile => {
    switch (request.kind) {
      case "debug-file":
        debugFile = finder.findDebugFile(loaded);
        return debugFile?.object;
      case "shared-debug-file":
        return finder.findSharedDebugFile(linkedFrom(loaded, debugFile))?.object;
      case "external-debug-info":
        return firstObject([besides(loaded.path, request.name)]);
      case "source-map":
        return readSourceMapFile(loaded.path, request.name);
      case "dwp":
        return options.dwp === undefined
          ? finder.findPackage(loaded, debugFile)?.object
          : firstObject([options.dwp]);
      case "dwo":
        return firstObject(dwoCandidates(loaded.path, request.name, request.compilationDirectory));
      case "mini-debug-info":
        return loadMiniDebugInfo(request.compressed);
    }
  };
  const withFiles = withRequestedFiles(symbolizer, (request) => {
    const found = findFile(request);
    if (found === undefined) missing.push(...missingFileMessages(request));
    return found;
  });
  // Missing names and lines must not end a report.
  let isReported = false;
  const orNothing = <T, A extends [] | [number]>(query: (...address: A) => T, nothing: T) => {
    const queryWithFiles = withFiles(query);
    return (...address: A): T => {
      let isKnown = true;
      const answer = dispensable(
        () => queryWithFiles(...address),
        (reason) => {
          isKnown = false;
          if (!isReported) addDamage(`has debug information that could not be read to the end: ${reason}`);
          isReported = true;
        },
      );
      return isKnown ? (answer as T) : nothing;
    };
  };
  return {
    path: loaded.path,
    symbolizer,
    missing,
    get damage() {
      return loaded.object.problems[0];
    },
    frames: orNothing((address: number) => symbolizer.frames(address), [UNKNOWN_FRAME]),
    variables: orNothing((address: number) => symbolizer.variables(address), []),
    dataDeclaration: orNothing((address: number) => symbolizer.dataDeclaration(address), undefined),
    dataVariables: orNothing(() => symbolizer.dataVariables(), []),
  };
}

/** The link to shared debug information is in the file with the debug information. */
function linkedFrom(loaded: LoadedObject, debugFile: LoadedObject | undefined): LoadedObject {
  return loaded.object.debugAltLink === undefined && debugFile !== undefined ? debugFile : loaded;
}

/** Wraps queries to a symbolizer so that they are repeated as long as it requests files. */
export function withRequestedFiles(
  symbolizer: Symbolizer,
  find: (request: FileRequest) => ProvidedFile,
): <T, A extends [] | [number]>(query: (...address: A) => T) => (...address: A) => T {
  const answerRequests = (): boolean => {
    const requests = symbolizer.needs();
    for (const request of requests) symbolizer.provide(request, find(request));
    return requests.length > 0;
  };
  while (answerRequests());
  return (query) =>
    (...address) => {
      let answer = query(...address);
      while (answerRequests()) answer = query(...address);
      return answer;
    };
}

/**
 * Returns a message about a missing file, as the end of a sentence that begins with the object's name; empty
 * if it is not worth a message.
 */
export function missingFileMessages(request: FileRequest): string[] {
  switch (request.kind) {
    case "dwo":
      return [`refers to ${request.name}, which was not found`];
    case "external-debug-info":
      return [`has its debug information in ${request.name}, which was not found`];
    case "source-map":
      return [`has its source map in ${request.name}, which was not found`];
    case "shared-debug-file":
      return [`shares debug information in ${request.name}, which was not found`];
    default:
      return [];
  }
}

function firstObject(candidates: readonly string[]): ProvidedFile {
  for (const candidate of candidates)
    try {
      return loadObject(candidate).object;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
    }
  return undefined;
}

function besides(modulePath: string, name: string): string {
  if (name.startsWith("file:")) return attempt(() => fileURLToPath(name), name);
  const own = /^[a-z][a-z0-9+.-]*:\/\//i.test(name) ? path.posix.basename(name) : name;
  return path.resolve(path.dirname(modulePath), own);
}

function readSourceMapFile(modulePath: string, name: string): Uint8Array | undefined {
  const data = /^data:[^,]*?(;base64)?,(.*)$/s.exec(name);
  try {
    if (data !== null)
      return Buffer.from(data[1] ? data[2]! : decodeURIComponent(data[2]!), data[1] ? "base64" : "utf8");
    return readWholeFile(besides(modulePath, name));
  } catch (error) {
    if (error instanceof UserError || error instanceof URIError) return undefined;
    throw error;
  }
}

/** AssemblyScript's compiler gives its own library these paths. */
function isCompilersLibrary({ file }: SourcePlace): boolean {
  return /(^|\/)~lib\//.test(file);
}

/**
 * Reads a source map, version 3, including indexed ones. Columns are offsets in the module's file, and all
 * positions are on the first line.
 *
 * @throws FormatError if it is damaged or no source map
 */
export function readSourceMap(bytes: Uint8Array): SourceMapLookup {
  const places = new Places();
  for (const { line, column, map } of sourceMapSections(textOf(bytes)))
    if (line === 0) places.add(map, column);
  places.sort();
  const standIns = places.standInSources();
  const placeOf = (at: number): SourcePlace | undefined => {
    const place = places.at(at);
    return place === undefined || standIns.has(place.source) ? undefined : place.place;
  };
  return (fileOffset, from = fileOffset) => {
    const last = partitionPoint(0, places.length, (at) => places.offsetAt(at) <= fileOffset) - 1;
    if (last < 0) return undefined;
    const earlier = (isWanted: (place: SourcePlace) => boolean): SourcePlace | undefined => {
      for (let at = last - 1; at >= 0 && places.offsetAt(at) >= from; at--) {
        const place = placeOf(at);
        if (place !== undefined && isWanted(place)) return { ...place, approximate: true };
      }
      return undefined;
    };
    const place = placeOf(last) ?? earlier(() => true);
    if (place === undefined || !isCompilersLibrary(place)) return place;
    const outer = earlier((other) => !isCompilersLibrary(other));
    return outer === undefined ? place : { ...place, outer };
  };
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder().decode(bytes);
  } catch {
    // The map exceeds the engine's maximum string length.
    throw damaged("it is too large", "unsupported");
  }
}

/** Positions on a source map's first line, in columns of numbers, as maps have millions. */
class Places {
  length = 0;
  readonly #sources: (string | null)[] = [];
  readonly #ignored = new Set<number>();
  /** Four numbers per position: its offset, the source or −1, and the line and column there. */
  #numbers = new Int32Array(1 << 10);

  /** @throws FormatError if the mappings cannot be decoded */
  add(map: PlainMap, firstOffset: number): void {
    const firstSource = this.#sources.length;
    const { sources, sourceRoot } = map;
    const named = { version: 3, sources, sourceRoot, names: [], mappings: "" } as const;
    for (const source of new (tracing().TraceMap)(named as never).resolvedSources) this.#sources.push(source);
    for (const source of map.ignoreList) this.#ignored.add(firstSource + source);
    const fields = new Fields(map.mappings);
    let [offset, source, line, column] = [firstOffset, 0, 0, 0];
    while (fields.nextPlace()) {
      offset += fields.next();
      let sourceIndex = -1;
      if (fields.hasMore) {
        source += fields.next();
        line += fields.next();
        column += fields.next();
        if (fields.hasMore) fields.next();
        // Positions in sources that the map does not have are ignored.
        if (source >= 0 && source < sources.length && line >= 0 && column >= 0)
          sourceIndex = firstSource + source;
      }
      this.#push(offset, sourceIndex, line, column);
    }
  }

  #push(offset: number, source: number, line: number, column: number): void {
    const at = 4 * this.length++;
    if (at === this.#numbers.length) this.#numbers = grown(this.#numbers, 2 * at);
    const numbers = this.#numbers;
    numbers[at] = offset;
    numbers[at + 1] = source;
    numbers[at + 2] = line;
    numbers[at + 3] = column;
  }

  sort(): void {
    let isSorted = true;
    for (let at = 1; at < this.length; at++) isSorted &&= this.offsetAt(at - 1) <= this.offsetAt(at);
    if (isSorted) return;
    const order = Uint32Array.from({ length: this.length }, (_, at) => at);
    order.sort((a, b) => this.offsetAt(a) - this.offsetAt(b) || a - b);
    const sorted = new Int32Array(4 * this.length);
    for (const [at, from] of order.entries())
      sorted.set(this.#numbers.subarray(4 * from, 4 * from + 4), 4 * at);
    this.#numbers = sorted;
  }

  offsetAt(at: number): number {
    return this.#numbers[4 * at]!;
  }

  at(at: number): { source: number; place: SourcePlace } | undefined {
    const [, source, line, column] = this.#numbers.subarray(4 * at, 4 * at + 4);
    const file = this.#sources[source!];
    return file === undefined || file === null
      ? undefined
      : { source: source!, place: { file, line: line! + 1, column: column! + 1 } };
  }

  /**
   * Returns the ignored sources of which only the first line occurs. Kotlin's compiler writes one for all
   * code without a source.
   */
  standInSources(): ReadonlySet<number> {
    const standIns = new Set(this.#ignored);
    for (let at = 0; at < this.length && standIns.size > 0; at++)
      if (this.#numbers[4 * at + 2] !== 0) standIns.delete(this.#numbers[4 * at + 1]!);
    return standIns;
  }
}

const DIGITS = new Int8Array(128).fill(-1);
for (const [value, digit] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
].entries())
  DIGITS[digit.charCodeAt(0)] = value;

/** Numbers of the first line of mappings, in base 64. */
class Fields {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  nextPlace(): boolean {
    while (this.#text[this.#at] === ",") this.#at++;
    return this.hasMore;
  }

  get hasMore(): boolean {
    const next = this.#text[this.#at];
    return next !== undefined && next !== "," && next !== ";";
  }

  /** @throws FormatError if there is no number, or it is too large */
  next(): number {
    let value = 0;
    for (let shift = 0; ; shift += 5) {
      const digit = DIGITS[this.#text.charCodeAt(this.#at++)] ?? -1;
      if (!(digit >= 0) || shift > 30) throw damaged("its mappings cannot be read");
      value += (digit & 31) * 2 ** shift;
      if ((digit & 32) === 0) break;
    }
    return value % 2 === 1 ? -(value - 1) / 2 : value / 2;
  }
}
