import path from "node:path";
import { fileURLToPath } from "node:url";
import { dwoCandidates } from "../../code/objects/index.ts";
import { dispensable } from "../../ground/bytes/dispensable.ts";
import { FormatError, UserError } from "../../ground/bytes/errors.ts";
import type { FileRequest, ProvidedFile } from "../symbolize/file-request.ts";
import type { Frame } from "../symbolize/frame.ts";
import { Symbolizer, type SymbolizerOptions, UNKNOWN_FRAME } from "../symbolize/symbolizer.ts";
import type { DataDeclaration, LocalVariable, StaticVariable } from "../symbolize/variables.ts";
import { readWholeFile } from "./file.ts";
import { loadMiniDebugInfo } from "./mini-debug-info.ts";
import { type LoadedObject, loadObject, nodeDecompressors, ObjectFinder } from "./objects.ts";
import { readSourceMap } from "./source-map.ts";

export interface FileSymbolizerOptions extends SymbolizerOptions {
  /** Finds files of debug information by build id and name. */
  readonly finder?: ObjectFinder;
  /** The package with the split units, instead of the one beside the object. */
  readonly dwp?: string | undefined;
  /** Is told what of names and lines is damaged, as the end of a sentence that begins with the object's path; `missing` has it too. */
  readonly tellDamage?: ((end: string) => void) | undefined;
}

/** A symbolizer of an object on this machine, which finds the further files that it needs by itself. */
export interface FileSymbolizer {
  readonly path: string;
  readonly symbolizer: Symbolizer;
  frames(address: number): Frame[];
  variables(address: number): LocalVariable[];
  dataDeclaration(address: number): DataDeclaration | undefined;
  dataVariables(): StaticVariable[];
  /** What was asked for and not found, as the end of a sentence that begins with the object's path. */
  readonly missing: readonly string[];
  /** What was met first of damage in the file itself. */
  readonly damage: FormatError | undefined;
}

/**
 * Opens an object file for symbolization.
 *
 * @throws UserError in one line if there is none, or it is no object
 */
export function loadSymbolizer(
  file: string | LoadedObject,
  options: FileSymbolizerOptions = {},
): FileSymbolizer {
  const loaded = typeof file === "string" ? loadObject(file) : file;
  const missing: string[] = [];
  const addDamage = (end: string): void => {
    missing.push(end);
    options.tellDamage?.(end);
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
  const answered = askedAgain(symbolizer, (request) => {
    const found = findFile(request);
    if (found === undefined) missing.push(...complaintOf(request));
    return found;
  });
  // Names and lines are no reason to end a report.
  let isTold = false;
  const orNothing = <T, A extends [] | [number]>(ask: (...address: A) => T, nothing: T) => {
    const askAgain = answered(ask);
    return (...address: A): T => {
      let isKnown = true;
      const answer = dispensable(
        () => askAgain(...address),
        (reason) => {
          isKnown = false;
          if (!isTold) addDamage(`has debug information that could not be read to the end: ${reason}`);
          isTold = true;
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

/** The link to shared debug information stands where the debug information is. */
function linkedFrom(loaded: LoadedObject, debugFile: LoadedObject | undefined): LoadedObject {
  return loaded.object.debugAltLink === undefined && debugFile !== undefined ? debugFile : loaded;
}

/** Questions to a symbolizer, which are asked again as long as it has asked for files. */
export function askedAgain(
  symbolizer: Symbolizer,
  find: (request: FileRequest) => ProvidedFile,
): <T, A extends [] | [number]>(ask: (...address: A) => T) => (...address: A) => T {
  const answerRequests = (): boolean => {
    const requests = symbolizer.needs();
    for (const request of requests) symbolizer.provide(request, find(request));
    return requests.length > 0;
  };
  while (answerRequests());
  return (ask) =>
    (...address) => {
      let answer = ask(...address);
      while (answerRequests()) answer = ask(...address);
      return answer;
    };
}

/** What is worth saying when a file is not there, as the end of a sentence that begins with the object's name. */
export function complaintOf(request: FileRequest): string[] {
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

/** A path or `file:` URL as a module names it: relative to the module, wherever it was built. */
function besides(modulePath: string, name: string): string {
  if (name.startsWith("file:"))
    try {
      return fileURLToPath(name);
    } catch {
      return name;
    }
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
