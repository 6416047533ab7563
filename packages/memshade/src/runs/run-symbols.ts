import { statSync } from "node:fs";
import path from "node:path";
import { libraryOf } from "../analyses/frames/libraries.ts";
import { UserError } from "../bytes/errors.ts";
import { nativeSha256Hex } from "../host/module/native-sha256.ts";
import { loadDemangler } from "../load/demangler.ts";
import { readRegular } from "../load/file.ts";
import { debuginfodCaches } from "../load/installed-objects.ts";
import { kernelObject } from "../load/kernel-object.ts";
import { loadObject, ObjectFinder } from "../load/objects.ts";
import { type FileSymbolizer, loadSymbolizer } from "../load/symbolizer.ts";
import { counted } from "../model/counted.ts";
import type { ProfileModule } from "../model/heap-profile.ts";
import type { RunModule, RunPlace } from "../model/run.ts";
import type { StaticVariable } from "../model/statics/named-statics.ts";
import {
  type CodeInstruction,
  FunctionStarts,
  instructionReader,
  type ObjectFile,
} from "../objects/index.ts";
import { recordedPlaces } from "../symbolize/recorded-places.ts";
import type { ModuleSymbols } from "../symbolize/run-lines.ts";
import { functionStarts } from "../unwind/index.ts";
import { NamelessPlaces } from "./nameless-places.ts";

/** Where the original modules of a run may be looked for. */
export interface OriginalPlaces {
  /** Folders and files that the user named, first to be looked at. */
  readonly binaryPaths?: readonly string[] | undefined;
}

/** The code of a module, by offsets in its code section. */
export interface ModuleCode extends ModuleSymbols {
  /** The instructions of the function around an offset. */
  around(offset: number): readonly CodeInstruction[];
}

/** As many bytes of a hash as stand for a module without a build id of its own. */
const HASH_BYTES = 20;

/** Finds the original modules of a run, by path and build id, and their debug information. */
export class RunSymbols {
  readonly #places: OriginalPlaces;
  /** Sentences: which modules were not found again. */
  readonly missing: string[] = [];

  readonly #finder: ObjectFinder;
  readonly #nameless = new NamelessPlaces();
  readonly #objects: FileSymbolizer[] = [];

  constructor(places: OriginalPlaces = {}) {
    this.#places = places;
    this.#finder = new ObjectFinder({
      binaryPaths: places.binaryPaths ?? [],
      debuginfodCaches: debuginfodCaches(),
    });
  }

  /**
   * Debug information of a module; undefined, with a sentence in `missing` where that has a reason to be told.
   *
   * @param noted places that the run itself has, for a module that is not found as it was
   */
  of(module: ProfileModule | RunModule, noted?: readonly RunPlace[]): ModuleSymbols | undefined {
    const recorded = recordedPlaces(noted, loadDemangler());
    if (isObject(module)) return this.#ofObject(module);
    const original = this.#find(module, recorded === undefined);
    if (original === undefined) return recorded;
    const symbolizer = symbolizerOf(original);
    // Of a module without debug information nothing is known but the names that the run has, too.
    const isDescribed = symbolizer.symbolizer.hasDebugInfo || original.object.externalDebugInfo !== undefined;
    // What is missing is known once a place was asked for.
    let isTold = false;
    let isStale = false;
    return {
      frames: (offset) => {
        const frames = isDescribed ? symbolizer.frames(offset) : [];
        if (!isStale && symbolizer.symbolizer.isStaleAt(offset)) {
          isStale = true;
          this.missing.push(
            `${module.name}: Its debug information was made for other code: functions begin where it has none. Names and lines may be ` +
              "wrong. Tools that change a module afterwards, as wasm-opt, have to keep it up to date (-g).",
          );
        }
        if (!isTold) {
          isTold = true;
          this.missing.push(
            ...symbolizer.missing.map((end) => `${module.name} ${end}: places may lack source lines.`),
          );
        }
        return frames;
      },
    };
  }

  /** Functions of an object have names where it has symbols alone. */
  #ofObject(module: ProfileModule | RunModule): ModuleSymbols | undefined {
    if (module.path === undefined || module.path === null) return undefined;
    const found = this.#findObject(module.path, module.buildId);
    if ("missing" in found) {
      this.missing.push(`${module.path} ${found.missing}: its functions have no names.`);
      return undefined;
    }
    const symbolizer = loadSymbolizer(found, { demangle: loadDemangler(), finder: this.#finder });
    this.#objects.push(symbolizer);
    // Inside of the C library or that of C++, names are of little use.
    const isLibrary = libraryOf({ module: found.path }) !== undefined;
    let starts: ReturnType<typeof functionStarts> | undefined;
    return {
      frames: (address) => {
        const frames = symbolizer.frames(address);
        if (!isLibrary) this.#nameless.add(found.path, frames.at(-1)?.function !== undefined);
        return frames;
      },
      functionStart: (address) => {
        starts ??= functionStarts(found.object);
        return starts(address);
      },
    };
  }

  /** Sentences that say what would bring names, once places have been asked for. */
  advice(): string[] {
    return [...this.#nameless.advice(), ...this.#objects.flatMap(missingParts)];
  }

  /** The kernel gives all processes one object that is in no file. */
  #findObject(path: string, buildId: string): ReturnType<ObjectFinder["find"]> {
    const object = path.includes("/") ? undefined : kernelObject();
    if (object !== undefined && object.buildId === buildId) return { path, object };
    return this.#finder.find({ path, buildId: buildId || undefined });
  }

  /** Where the functions of an object begin, also those that have no names; undefined where nobody knows. */
  functionStarts(module: RunModule): FunctionStarts | undefined {
    if (module.path === undefined || module.path === null) return undefined;
    const found = this.#findObject(module.path, module.buildId);
    return "missing" in found ? undefined : FunctionStarts.of(found.object);
  }

  /** Variables with addresses of their own; none without debug information. */
  dataVariablesOf(module: ProfileModule | RunModule): readonly StaticVariable[] {
    const original = this.#find(module);
    if (original === undefined) return [];
    const symbolizer = symbolizerOf(original);
    return symbolizer.symbolizer.hasDebugInfo ? symbolizer.dataVariables() : [];
  }

  /** Instructions of a module, with the lines that they are of; undefined where it is not there as it was, or has no lines. */
  codeOf(module: ProfileModule | RunModule): ModuleCode | undefined {
    const original = this.#find(module, false);
    if (original === undefined) return undefined;
    const { symbolizer, frames } = symbolizerOf(original);
    if (!symbolizer.hasDebugInfo) return undefined;
    return { frames, around: instructionReader(readRegular(original.file), loadDemangler()) };
  }

  #find(
    module: ProfileModule | RunModule,
    tellsMissing = true,
  ): { file: string; object: ObjectFile } | undefined {
    const candidates = [...this.#candidates(module)];
    let problem = candidates.length === 0 ? undefined : `${candidates[0]} is not there any more`;
    for (const file of [...this.#namedFiles(), ...candidates]) {
      if (!isFile(file)) continue;
      try {
        const { object } = loadObject(file);
        if (object.kind === "wasm" && isSame(file, object, module)) return { file, object };
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
      }
      // A file that the user named may be of another module.
      if (candidates.includes(file)) problem = `${file} has changed since the run`;
    }
    if (problem !== undefined && tellsMissing)
      this.missing.push(`No source lines for ${module.name}: ${problem}.`);
    return undefined;
  }

  /** Files that the user named, whatever they are called: a module of `profile()` had no file. */
  #namedFiles(): string[] {
    return (this.#places.binaryPaths ?? []).filter(isFile);
  }

  *#candidates({ name, path: recorded }: ProfileModule | RunModule): Generator<string> {
    for (const place of this.#places.binaryPaths ?? []) {
      if (isFile(place)) {
        if (path.basename(place) === path.basename(recorded ?? name)) yield place;
      } else yield path.join(place, path.basename(recorded ?? name));
    }
    if (recorded !== undefined && recorded !== null) yield recorded;
  }
}

function symbolizerOf({ file, object }: { file: string; object: ObjectFile }): FileSymbolizer {
  return loadSymbolizer({ path: file, object }, { demangle: loadDemangler() });
}

function isSame(file: string, object: ObjectFile, { bytes, buildId }: ProfileModule | RunModule): boolean {
  if (object.buildId !== undefined) return object.buildId === buildId;
  if (bytes !== undefined && object.size !== bytes) return false;
  const hash = nativeSha256Hex(readRegular(file));
  return hash.slice(0, 2 * HASH_BYTES) === buildId;
}

/** A sentence about an object whose debug information is not all there. A large program may have thousands of files of it. */
function missingParts({ path: file, missing }: FileSymbolizer): string[] {
  const [first, ...others] = missing;
  if (first === undefined) return [];
  const more = others.length === 0 ? "" : `, nor were ${counted(others.length, "other file", "other files")}`;
  return [`${file} ${first}${more}: inlined functions, and some lines, are not known there.`];
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** Whether it is an object of a native program. */
function isObject(module: ProfileModule | RunModule): boolean {
  return "object" in module
    ? module.object !== undefined
    : "objectAddress" in module && module.objectAddress !== undefined;
}
