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
import { entryOf, once } from "../ground/bytes/entries.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { loadDemangler } from "../names/load/demangler.ts";
import { readRegular } from "../names/load/file.ts";
import { debuginfodCaches } from "../names/load/installed-objects.ts";
import { packageOf } from "../names/load/installed-package.ts";
import { kernelObject } from "../names/load/kernel-object.ts";
import { loadObject, ObjectFinder } from "../names/load/objects.ts";
import { type FileSymbolizer, loadSymbolizer } from "../names/load/symbolizer.ts";
import { nativeBlockTypes } from "../names/symbolize/block-types.ts";
import type { Frame } from "../names/symbolize/frame.ts";
import { type ModuleSymbols, recordedPlaces } from "../names/symbolize/run-lines.ts";
import { STALE } from "../names/symbolize/symbolizer.ts";
import { counted, groupDigits } from "../profile/model/counted.ts";
import type { HeapProfile, ProfileModule } from "../profile/model/heap-profile.ts";
import type { IndexIntoModuleTable } from "../profile/model/indices.ts";
import { isOfNativeProgram } from "../profile/model/known-fields.ts";
import type { RunModule, RunPlace } from "../profile/model/run.ts";
import type { StaticVariable } from "../profile/model/statics.ts";
import { moduleTypes } from "../record/host/module/module-types.ts";
import { nativeSha256Hex } from "../record/host/module/native-sha256.ts";
import type { TypeAt } from "../record/tools/session.ts";
import { namesOf, type RunNames } from "./run-names.ts";
import { holesOfContexts } from "./type-holes.ts";

/** Counts the places of native programs whose functions have no names. */
export class NamelessPlaces {
  readonly #ofObject = new Map<string, { places: number; nameless: number }>();

  add(path: string, isNamed: boolean): void {
    const count = entryOf(this.#ofObject, path, () => ({ places: 0, nameless: 0 }));
    count.places++;
    if (!isNamed) count.nameless++;
  }

  /**
   * Returns a sentence about the object with the most nameless places, if they are most of its places. It
   * names a source of the missing names.
   */
  advice(): string[] {
    const [most] = [...this.#ofObject].sort(([, a], [, b]) => b.nameless - a.nameless);
    if (most === undefined) return [];
    const [path, { places, nameless }] = most;
    if (nameless <= places / 2) return [];
    const found = packageOf(path);
    const source =
      found === undefined
        ? "give the unstripped file (--binary-path FOLDER), or build it with -g"
        : `install the package ${found}-dbgsym (or ${found}-dbg)`;
    return [
      `${path} has no function names for ${groupDigits(nameless)} of its ${groupDigits(places)} sites. To get names: ${source}.`,
    ];
  }
}

export interface OriginalPlaces {
  /** Folders and files from the user, which are searched first. */
  readonly binaryPaths?: readonly string[] | undefined;
  /** Receives a sentence if names and lines of a module are damaged. */
  readonly reportDamage?: ((sentence: string) => void) | undefined;
  readonly names?: RunNames | undefined;
  /** Opened objects, shared with other runs. */
  readonly opened?: Map<string, OpenedObject | undefined> | undefined;
}

export interface ModuleCode extends ModuleSymbols {
  instructionsAround(offset: number): readonly CodeInstruction[];
}

/** Bytes of a hash that identify a module without a build id. */
const HASH_BYTES = 20;

/** Finds the original modules of a run, by path and build id, and their debug information. */
export class RunSymbols {
  readonly #places: OriginalPlaces;
  readonly missing: string[] = [];

  readonly #finder: ObjectFinder;
  readonly #nameless = new NamelessPlaces();
  readonly #objects: { symbolizer: FileSymbolizer; start: string }[] = [];
  /** Objects of native programs whose names come from the objects. */
  readonly #named = new Map<string, () => OpenedObject | undefined>();
  readonly #starts = new Map<string, FunctionStarts | undefined>();
  /** Names stored beside the run, and their sentences about missing files. */
  readonly #noted: RunNames | undefined;
  readonly #sentences: string[] = [];
  /** Names to be written beside the run. */
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
   * Returns the debug information of a module; undefined if there is none. `missing` gets a sentence if the
   * reason should be reported.
   *
   * @param noted places in the run itself, for a module that is not found unchanged
   */
  symbolsOf(module: ProfileModule | RunModule, noted?: readonly RunPlace[]): ModuleSymbols | undefined {
    const recorded = recordedPlaces(noted, loadDemangler());
    if (isObject(module)) return this.#ofObject(module);
    const original = this.#find(module, recorded === undefined);
    if (original === undefined) return recorded;
    const symbolizer = this.#symbolizerOf(original);
    // A module without debug information has no more than the names that the run has, too.
    const isDescribed = symbolizer.symbolizer.hasDebugInfo || original.object.externalDebugInfo !== undefined;
    // The missing files are known only after the first request.
    let isTold = false;
    let isStale = false;
    return {
      frames: (offset) => {
        const found = isDescribed ? symbolizer.frames(offset) : [];
        // The source map or a separate debug file may be missing now, so the run's own places are used.
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
            ...symbolizer.missing.map((end) => `${module.name} ${end}: source lines may be missing.`),
          );
        }
        return frames;
      },
    };
  }

  /**
   * Returns the symbols of a native object, by its debug information or its symbol table. Names stored beside
   * the run come first. The object is opened for places without a name there, or at once if the user names
   * files.
   */
  #ofObject(module: ProfileModule | RunModule): ModuleSymbols | undefined {
    const { path: file } = module;
    if (file === undefined || file === null) return undefined;
    const start = startOf(module);
    const noted = this.#noted?.namesOf(start);
    const opened = once(() => this.#openOnce(file, module));
    if (noted === undefined && opened() === undefined) return undefined;
    const isNotedFirst = noted !== undefined && (this.#places.binaryPaths ?? []).length === 0;
    if (!isNotedFirst) this.#named.set(start, opened);
    // Files from the user may contain the missing information.
    if (noted !== undefined && (isNotedFirst || opened() === undefined))
      this.#sentences.push(...noted.missing);
    // Nameless places in the C or C++ library are not counted, because their names are of little use.
    const isLibrary = libraryOf({ module: file }) !== undefined;
    const framesAt = (address: number): readonly Frame[] => {
      const storedFrames = noted?.places.get(address)?.frames;
      if (storedFrames !== undefined && isNotedFirst && hasName(storedFrames)) return storedFrames;
      const found = opened()?.symbolizer.frames(address);
      return found !== undefined && (storedFrames === undefined || hasName(found))
        ? found
        : (storedFrames ?? []);
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
    const starts = once(() => functionStarts(found.object));
    return { symbolizer, functionStart: (address) => starts()(address) };
  }

  /** Returns a native program's profile with marks on the layers of its allocator, which stored names already have. */
  async withNativeLayers(profile: HeapProfile): Promise<HeapProfile> {
    if (this.#named.size === 0) return profile;
    const { findNativeLayers } = await import("../record/native/layers/find-layers.ts");
    const { modules, frames, functions } = profile;
    const found = findNativeLayers(profile, {
      objectOf: (module) => this.#named.get(startOf(modules[module]!))?.()?.symbolizer.symbolizer.object,
      isRuntime: (module) =>
        libraryOf({ module: modules[module]!.path ?? modules[module]!.name }) !== undefined,
    });
    if (found.length === 0) return profile;
    const moduleOf = (frame: number) => functions.module[frames.function[frame]!]! as IndexIntoModuleTable;
    const keyOf = (frame: number) => `${moduleOf(frame)} ${frames.offset[frame]}`;
    const places = new Set(found.map(keyOf));
    for (const frame of found)
      this.#names?.noteLayer(startOf(modules[moduleOf(frame)]!), frames.offset[frame]!);
    // Functions that are inlined into a layer pass the block on, too.
    const handsOutMemory = Uint8Array.from(frames.offset, (_, frame) =>
      frames.handsOutMemory?.[frame] === 1 || places.has(keyOf(frame)) ? 1 : 0,
    );
    return { ...profile, frames: { ...frames, handsOutMemory } };
  }

  /** Returns a profile with the holes in the types of its blocks. */
  withHoles(profile: HeapProfile): HeapProfile {
    const { modules, contexts } = profile;
    const isNative = isOfNativeProgram(profile);
    if (isNative && this.#named.size === 0 && this.#noted === undefined) return profile;
    const start = (module: IndexIntoModuleTable) => startOf(modules[module]!);
    const holes = holesOfContexts(profile, {
      typesOf: (module) =>
        isNative
          ? nativeBlockTypes(this.#named.get(start(module))?.()?.symbolizer.symbolizer.object)
          : this.#typesOfModule(modules[module]!),
      storedAt: (module, address) => this.#noted?.namesOf(start(module))?.places.get(address)?.holes,
      store: (module, address, found) => this.#names?.note(start(module), address, { holes: found }),
    });
    return holes === undefined ? profile : { ...profile, contexts: { ...contexts, holes } };
  }

  #typesOfModule(module: ProfileModule): TypeAt | undefined {
    const original = this.#find(module, false);
    return original === undefined ? undefined : moduleTypes(readRegular(original.file));
  }

  /** Returns sentences about sources of missing names. Complete only after places were requested. */
  advice(): string[] {
    const missing = this.#objects.flatMap(({ symbolizer, start }) => {
      const sentences = missingParts(symbolizer);
      if (this.#names !== undefined) this.#names.ofNew(start).missing = sentences;
      return sentences;
    });
    // Names are noted at the end of a run, which prints no advice. Finding a package takes a process of its own.
    const nameless = this.#names === undefined ? this.#nameless.advice() : [];
    return [...nameless, ...new Set([...missing, ...this.#sentences])];
  }

  #symbolizerOf(
    { file, object }: { file: string; object: ObjectFile },
    finder?: ObjectFinder,
  ): FileSymbolizer {
    const reportDamage = (end: string) => this.#places.reportDamage?.(`${path.basename(file)} ${end}`);
    const options = { demangle: loadDemangler(), reportDamage, ...(finder === undefined ? {} : { finder }) };
    return loadSymbolizer({ path: file, object }, options);
  }

  /** Finds an object. The kernel maps one object into all processes that is in no file (vDSO). */
  #findObject(path: string, buildId: string): ReturnType<ObjectFinder["find"]> {
    const object = path.includes("/") ? undefined : kernelObject();
    if (object !== undefined && object.buildId === buildId) return { path, object };
    return this.#finder.find({ path, buildId: buildId || undefined });
  }

  /**
   * Returns the start of the function that contains a place of an object, even if it has no name; undefined
   * if unknown.
   */
  functionStart(module: RunModule, address: number): number | undefined {
    const start = startOf(module);
    let found = this.#noted?.namesOf(start)?.places.get(address)?.symbolStart;
    if (found === undefined) {
      const starts = entryOf(this.#starts, start, () => this.#functionStarts(module));
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

  /** Returns the object of a module, unchanged since the run; undefined if it is not found. */
  objectOf(module: RunModule): ObjectFile | undefined {
    if (!isObject(module)) return this.#find(module, false)?.object;
    if (module.path === undefined || module.path === null) return undefined;
    const found = this.#findObject(module.path, module.buildId);
    return "missing" in found ? undefined : found.object;
  }

  /** Returns the types of a module's blocks by their allocating calls; undefined without debug information. */
  blockTypesOf(module: RunModule): ReturnType<typeof nativeBlockTypes> {
    if (isObject(module)) return nativeBlockTypes(this.objectOf(module));
    const original = this.#find(module, false);
    return original && moduleTypes(readRegular(original.file));
  }

  /** Returns variables with addresses of their own; none without debug information. */
  dataVariablesOf(module: ProfileModule | RunModule): readonly StaticVariable[] {
    const original = this.#find(module);
    if (original === undefined) return [];
    const symbolizer = this.#symbolizerOf(original);
    return symbolizer.symbolizer.hasDebugInfo ? symbolizer.dataVariables() : [];
  }

  /**
   * Returns the instructions of a module with their lines; undefined if the module has changed or has no
   * lines.
   */
  codeOf(module: ProfileModule | RunModule): ModuleCode | undefined {
    const original = this.#find(module, false);
    if (original === undefined) return undefined;
    const { symbolizer, frames } = this.#symbolizerOf(original);
    if (!symbolizer.hasDebugInfo) return undefined;
    return { frames, instructionsAround: instructionReader(readRegular(original.file), loadDemangler()) };
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
      // A file from the user may belong to another module, so it is no problem.
      if (candidates.includes(file)) problem = `${file} has changed since the run`;
    }
    if (problem !== undefined && tellsMissing)
      this.missing.push(`No source lines for ${module.name}: ${problem}.`);
    return undefined;
  }

  /** Returns files from the user under any name, because a module of `profile()` had no file. */
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

export interface OpenedObject {
  readonly symbolizer: FileSymbolizer;
  functionStart(address: number): number | undefined;
}

/** Returns the address that identifies a module in its run. */
function startOf({ start }: ProfileModule | RunModule): string {
  return `0x${BigInt(start).toString(16)}`;
}

function hasName(frames: readonly Frame[]): boolean {
  return frames.at(-1)?.function !== undefined;
}

/**
 * Returns a sentence about an object with missing debug files. A large program may have thousands of them, so
 * only the first is named.
 */
function missingParts({ path: file, missing }: FileSymbolizer): string[] {
  const [first, ...otherFiles] = missing;
  if (first === undefined) return [];
  const more =
    otherFiles.length === 0 ? "" : `, nor were ${counted(otherFiles.length, "other file", "other files")}`;
  return [`${file} ${first}${more}: inlined functions and some lines are missing.`];
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}

function isObject(module: ProfileModule | RunModule): boolean {
  return "object" in module
    ? module.object !== undefined
    : "objectAddress" in module && module.objectAddress !== undefined;
}
