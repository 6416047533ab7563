import { statSync } from "node:fs";
import path from "node:path";
import {
  type CodeInstruction,
  FunctionStarts,
  instructionReader,
  type ObjectFile,
} from "../code/objects/index.ts";
import { functionStarts } from "../code/unwind/index.ts";
import { libraryOf } from "../explain/analyses/frames/libraries.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { loadDemangler } from "../names/load/demangler.ts";
import { readRegular } from "../names/load/file.ts";
import { debuginfodCaches } from "../names/load/installed-objects.ts";
import { packageOf } from "../names/load/installed-package.ts";
import { kernelObject } from "../names/load/kernel-object.ts";
import { loadObject, ObjectFinder } from "../names/load/objects.ts";
import { type FileSymbolizer, loadSymbolizer } from "../names/load/symbolizer.ts";
import type { Frame } from "../names/symbolize/frame.ts";
import { recordedPlaces } from "../names/symbolize/recorded-places.ts";
import type { ModuleSymbols } from "../names/symbolize/run-lines.ts";
import { STALE } from "../names/symbolize/stale.ts";
import { counted, groupDigits } from "../profile/model/counted.ts";
import type { ProfileModule } from "../profile/model/heap-profile.ts";
import type { RunModule, RunPlace } from "../profile/model/run.ts";
import type { StaticVariable } from "../profile/model/statics.ts";
import { nativeSha256Hex } from "../record/host/module/native-sha256.ts";
import { namesOf, type RunNames } from "./run-names.ts";

/** Counts the places of native programs whose functions have no names. */
export class NamelessPlaces {
  readonly #ofObject = new Map<string, { places: number; nameless: number }>();

  /** A place in the object at a path. */
  add(path: string, isNamed: boolean): void {
    const count = this.#ofObject.get(path) ?? { places: 0, nameless: 0 };
    this.#ofObject.set(path, count);
    count.places++;
    if (!isNamed) count.nameless++;
  }

  /** A sentence about the object with the most of them, where those are most of its places: what brings their names. */
  advice(): string[] {
    const [most] = [...this.#ofObject].sort(([, a], [, b]) => b.nameless - a.nameless);
    if (most === undefined) return [];
    const [path, { places, nameless }] = most;
    if (nameless <= places / 2) return [];
    const found = packageOf(path);
    const source =
      found === undefined
        ? "the file as it was before its symbols were stripped (--binary-path FOLDER), or building it with -g"
        : `the package ${found}-dbgsym (of some also ${found}-dbg)`;
    return [
      `${path} has no function's name for ${groupDigits(nameless)} of its ${groupDigits(places)} places. What brings them: ${source}.`,
    ];
  }
}

/** Where the original modules of a run may be looked for. */
export interface OriginalPlaces {
  /** Folders and files that the user named, first to be looked at. */
  readonly binaryPaths?: readonly string[] | undefined;
  /** Is told, in a sentence, where names and lines of a module are damaged. */
  readonly tellDamage?: ((sentence: string) => void) | undefined;
  /** Is given what is found out of the places of native programs. */
  readonly names?: RunNames | undefined;
  /** Objects that are open already, and will be for other runs. */
  readonly opened?: Map<string, OpenedObject | undefined> | undefined;
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
  readonly #objects: { symbolizer: FileSymbolizer; start: string }[] = [];
  readonly #starts = new Map<string, FunctionStarts | undefined>();
  /** What the run has beside it, and its sentences about what was missing then. */
  readonly #noted: RunNames | undefined;
  readonly #sentences: string[] = [];
  /** What is to be written beside it. */
  readonly #names: RunNames | undefined;

  /** @param modules of the run, as they were read from it */
  constructor(places: OriginalPlaces = {}, modules?: readonly RunModule[]) {
    this.#places = places;
    this.#names = places.names;
    this.#noted = namesOf(modules);
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
    const symbolizer = this.#symbolizerOf(original);
    // Of a module without debug information nothing is known but the names that the run has, too.
    const isDescribed = symbolizer.symbolizer.hasDebugInfo || original.object.externalDebugInfo !== undefined;
    // What is missing is known once a place was asked for.
    let isTold = false;
    let isStale = false;
    return {
      frames: (offset) => {
        const found = isDescribed ? symbolizer.frames(offset) : [];
        // Its source map, or its debug information in another file, may have gone since.
        const frames = found.some(({ file }) => file !== undefined)
          ? found
          : (recorded?.frames(offset) ?? found);
        if (!isStale && symbolizer.symbolizer.isStaleAt(offset)) {
          isStale = true;
          this.missing.push(`${module.name}: ${STALE}`);
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

  /**
   * Functions of an object have names where it has symbols alone. What the run has noted of a place comes first; the object is opened for
   * places of which that has no name, and before where the user names files.
   */
  #ofObject(module: ProfileModule | RunModule): ModuleSymbols | undefined {
    const { path: file } = module;
    if (file === undefined || file === null) return undefined;
    const start = startOf(module);
    const noted = this.#noted?.of(start);
    const opened = lazily(() => this.#openOnce(file, module));
    if (noted === undefined && opened() === undefined) return undefined;
    const isNotedFirst = noted !== undefined && (this.#places.binaryPaths ?? []).length === 0;
    // Files that the user names may have what was missing.
    if (noted !== undefined && (isNotedFirst || opened() === undefined))
      this.#sentences.push(...noted.missing);
    // Inside of the C library or that of C++, names are of little use.
    const isLibrary = libraryOf({ module: file }) !== undefined;
    const framesAt = (address: number): readonly Frame[] => {
      const known = noted?.places.get(address)?.frames;
      if (known !== undefined && isNotedFirst && hasName(known)) return known;
      const found = opened()?.symbolizer.frames(address);
      return found !== undefined && (known === undefined || hasName(found)) ? found : (known ?? []);
    };
    return {
      frames: (address) => {
        const frames = framesAt(address);
        if (!isLibrary) this.#nameless.add(file, hasName(frames));
        this.#names?.note(start, address, { frames });
        return frames;
      },
      functionStart: (address) => {
        const found = noted?.places.get(address)?.start ?? opened()?.functionStart(address);
        this.#names?.note(start, address, { start: found });
        return found;
      },
    };
  }

  #openOnce(file: string, module: ProfileModule | RunModule): OpenedObject | undefined {
    const { opened } = this.#places;
    const key = `${file} ${module.buildId}`;
    const object = opened?.has(key) === true ? opened.get(key) : this.#openObject(file, module);
    opened?.set(key, object);
    if (object !== undefined) this.#objects.push({ ...object, start: startOf(module) });
    return object;
  }

  #openObject(file: string, module: ProfileModule | RunModule): OpenedObject | undefined {
    const found = this.#findObject(file, module.buildId);
    if ("missing" in found) {
      this.missing.push(`${file} ${found.missing}: its functions have no names.`);
      return undefined;
    }
    const symbolizer = this.#symbolizerOf({ file: found.path, object: found.object }, this.#finder);
    const starts = lazily(() => functionStarts(found.object));
    return { symbolizer, functionStart: (address) => starts()(address) };
  }

  /** Sentences that say what would bring names, once places have been asked for. */
  advice(): string[] {
    const missing = this.#objects.flatMap(({ symbolizer, start }) => {
      const sentences = missingParts(symbolizer);
      if (this.#names !== undefined) this.#names.ofNew(start).missing = sentences;
      return sentences;
    });
    return [...this.#nameless.advice(), ...new Set([...missing, ...this.#sentences])];
  }

  #symbolizerOf(
    { file, object }: { file: string; object: ObjectFile },
    finder?: ObjectFinder,
  ): FileSymbolizer {
    const tellDamage = (end: string) => this.#places.tellDamage?.(`${path.basename(file)} ${end}`);
    const options = { demangle: loadDemangler(), tellDamage, ...(finder === undefined ? {} : { finder }) };
    return loadSymbolizer({ path: file, object }, options);
  }

  /** The kernel gives all processes one object that is in no file. */
  #findObject(path: string, buildId: string): ReturnType<ObjectFinder["find"]> {
    const object = path.includes("/") ? undefined : kernelObject();
    if (object !== undefined && object.buildId === buildId) return { path, object };
    return this.#finder.find({ path, buildId: buildId || undefined });
  }

  /** Where the function begins that a place of an object is in, also one that has no name; undefined where nobody knows. */
  functionStart(module: RunModule, address: number): number | undefined {
    const start = startOf(module);
    let found = this.#noted?.of(start)?.places.get(address)?.symbolStart;
    if (found === undefined) {
      let starts = this.#starts.get(start);
      if (starts === undefined) {
        starts = this.#functionStarts(module);
        this.#starts.set(start, starts);
      }
      found = starts?.startOf(address);
    }
    this.#names?.note(start, address, { symbolStart: found });
    return found;
  }

  #functionStarts(module: RunModule): FunctionStarts | undefined {
    if (module.path === undefined || module.path === null) return undefined;
    const found = this.#findObject(module.path, module.buildId);
    return "missing" in found ? undefined : FunctionStarts.fromObject(found.object);
  }

  /** Variables with addresses of their own; none without debug information. */
  dataVariablesOf(module: ProfileModule | RunModule): readonly StaticVariable[] {
    const original = this.#find(module);
    if (original === undefined) return [];
    const symbolizer = this.#symbolizerOf(original);
    return symbolizer.symbolizer.hasDebugInfo ? symbolizer.dataVariables() : [];
  }

  /** Instructions of a module, with the lines that they are of; undefined where it is not there as it was, or has no lines. */
  codeOf(module: ProfileModule | RunModule): ModuleCode | undefined {
    const original = this.#find(module, false);
    if (original === undefined) return undefined;
    const { symbolizer, frames } = this.#symbolizerOf(original);
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
    for (const place of this.#places.binaryPaths ?? [])
      if (isFile(place)) {
        if (path.basename(place) === path.basename(recorded ?? name)) yield place;
      } else yield path.join(place, path.basename(recorded ?? name));
    if (recorded !== undefined && recorded !== null) yield recorded;
  }
}

function isSame(file: string, object: ObjectFile, { bytes, buildId }: ProfileModule | RunModule): boolean {
  if (object.buildId !== undefined) return object.buildId === buildId;
  if (bytes !== undefined && object.size !== bytes) return false;
  const hash = nativeSha256Hex(readRegular(file));
  return hash.slice(0, 2 * HASH_BYTES) === buildId;
}

/** An object of a native program that is asked for places. */
export interface OpenedObject {
  readonly symbolizer: FileSymbolizer;
  functionStart(address: number): number | undefined;
}

/** What tells a module from the others of its run. */
function startOf({ start }: ProfileModule | RunModule): string {
  return `0x${BigInt(start).toString(16)}`;
}

/** Whether the function has a name that the compiler has emitted there. */
function hasName(frames: readonly Frame[]): boolean {
  return frames.at(-1)?.function !== undefined;
}

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
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
