import path from "node:path";
import { isInRuntime, type SourceFrame } from "../../../profile/formats/memprof/index.ts";
import type { RawSegment } from "../../../profile/formats/memprof-raw/index.ts";
import type { ModuleKnowledge, ProfileModule, ResolvedFrame } from "../../../profile/model/heap-profile.ts";
import type { IndexIntoModuleTable } from "../../../profile/model/indices.ts";
import { loadDemangler } from "../../load/demangler.ts";
import { debuginfodCaches, type InstalledObjects } from "../../load/installed-objects.ts";
import { type LoadedObject, ObjectFinder } from "../../load/objects.ts";
import { loadSymbolizer } from "../../load/symbolizer.ts";
import { hexOf, linkAddressOf, type ProfiledBinaries } from "../binaries.ts";

/** So many digits of a build id stand for a module whose file is not there. */
const SHORT_ID_DIGITS = 8;

/** Files that lie by their build ids say nothing by their own names. */
const NAMELESS_FILE = /^(?:executable|debuginfo|elf|[0-9a-f]{20,}(?:\.debug)?)$/;

/** The functions of MemProf's runtime that allocate, as symbol tables have them. */
const ALLOCATION =
  /^(?:_{2,3}interceptor_)?(?:__libc_|__)?(?:malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|p?valloc|strn?dup)$|^_Zn[wa][mj]/;

/** What is at an address of a module. */
export interface CodePlace {
  readonly module?: CodeModule | undefined;
  /** Innermost first; at least one. */
  readonly frames: readonly ResolvedFrame[];
  /** Whether this is a function of MemProf's runtime, where an allocation begins at this place. */
  readonly isRuntime: boolean;
  /** Whether it is in the program's `main`: what called that is alike for everything. */
  readonly isMain: boolean;
}

/** The modules of all processes of a profile; the same file is one module, wherever the processes had it. */
export class CodeModules {
  /** In the order in which they were first asked for. */
  readonly all: CodeModule[] = [];
  readonly #named: ProfiledBinaries;
  readonly #installed: InstalledObjects;
  readonly #byKey = new Map<string, CodeModule>();
  /** Debug information is looked for in the folders that were named too. */
  readonly #finder: ObjectFinder;

  /** @param installed where a binary is looked for that is none of the named ones */
  constructor(named: ProfiledBinaries, installed: InstalledObjects, folders: readonly string[]) {
    this.#named = named;
    this.#installed = installed;
    this.#finder = new ObjectFinder({ binaryPaths: folders, debuginfodCaches: debuginfodCaches() });
  }

  /**
   * @param position of the segment in its dump; the program is the first
   * @param processNumber what tells modules without build ids apart
   */
  at(segment: RawSegment, position: number, processNumber: number): CodeModule {
    const buildId = hexOf(segment.buildId);
    const key = buildId === "" ? `${processNumber} ${position}` : buildId;
    let module = this.#byKey.get(key);
    if (module === undefined) {
      const named = buildId === "" ? undefined : this.#named.find(buildId);
      const loaded = named ?? (buildId === "" ? undefined : this.#installed.find(buildId));
      module = new CodeModule(
        { index: this.all.length as IndexIntoModuleTable, position, segment, buildId },
        loaded,
        this.#finder,
      );
      module.isNamed = named !== undefined;
      this.#byKey.set(key, module);
      this.all.push(module);
    }
    return module;
  }
}

interface ModuleIdentity {
  readonly index: IndexIntoModuleTable;
  readonly position: number;
  /** In the process that was met first. */
  readonly segment: RawSegment;
  readonly buildId: string;
}

/** A module whose code led to allocations. */
export class CodeModule {
  /** Whether the user named its file. */
  isNamed = false;
  /** Whether a path that is shown goes through it, or would with the frames of the program. */
  isShown: boolean;
  readonly isProgram: boolean;
  readonly #identity: ModuleIdentity;
  readonly #loaded: LoadedObject | undefined;
  readonly #finder: ObjectFinder;
  readonly #places = new Map<number, CodePlace>();
  #symbols: ReturnType<typeof loadSymbolizer> | undefined;
  #knows: ModuleKnowledge = "nothing";

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

  /** As reports list it. */
  describe(): ProfileModule {
    const { segment, buildId } = this.#identity;
    const { start, end } = segment;
    return {
      name: this.#name,
      path: this.#loaded?.path,
      buildId,
      start,
      end,
      knows: this.isShown ? this.#knows : undefined,
    };
  }

  /** What to add to run-time addresses of one process: places are the same then in all processes. */
  shiftOf(segment: RawSegment): number {
    const base = Number(segment.offset);
    if (this.#loaded === undefined) return -base;
    return linkAddressOf(segment, this.#loaded.object) - Number(segment.start);
  }

  /** @param address of the file, or where that is not there, from where the module was loaded */
  placeAt(address: number): CodePlace {
    let place = this.#places.get(address);
    if (place === undefined) {
      place = this.#lookUp(address);
      this.#places.set(address, place);
    }
    return place;
  }

  get #name(): string {
    const { buildId, position } = this.#identity;
    const file = this.#loaded === undefined ? "" : path.basename(this.#loaded.path);
    if (file !== "" && !NAMELESS_FILE.test(file)) return file;
    return buildId === "" ? `module ${position + 1}` : buildId.slice(0, SHORT_ID_DIGITS);
  }

  #lookUp(address: number): CodePlace {
    const { index: module } = this.#identity;
    const unnamed = { module: this, frames: [{ module, offset: address }], isMain: false };
    if (this.#loaded === undefined) return { ...unnamed, isRuntime: true };
    this.#symbols ??= loadSymbolizer(this.#loaded, { finder: this.#finder, useSymbolTable: false });
    const chain: readonly SourceFrame[] = this.#symbols.frames(address);
    const [innermost] = chain;
    if (innermost?.linkageName !== undefined && innermost.linkageName !== "") {
      this.#knows = "lines";
      return {
        module: this,
        frames: this.#framesOf(chain),
        isRuntime: isInRuntime(innermost),
        isMain: this.isProgram && chain.at(-1)!.linkageName === "main",
      };
    }
    const symbol = this.#symbols.symbolizer.symbolAt(address)?.name;
    // A leaf without a name in a library that is known lies in that library: the runtime is the program's, or has symbols.
    if (!symbol) return { ...unnamed, isRuntime: this.isProgram };
    if (this.#knows === "nothing") this.#knows = "functions";
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
