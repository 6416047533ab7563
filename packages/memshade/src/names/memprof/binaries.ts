import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { ObjectFile } from "../../code/objects/index.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { hexOf } from "../../ground/bytes/numbers.ts";
import {
  functionGuid,
  memprofFrames,
  type RawModule,
  type SourceFrame,
} from "../../profile/formats/memprof/index.ts";
import type { RawSegment } from "../../profile/formats/memprof-raw/index.ts";
import { counted } from "../../profile/model/counted.ts";
import {
  type MemprofFrame,
  type UnresolvedPlace,
  unresolvedName,
} from "../../profile/model/memprof/index.ts";
import { readWholeFile } from "../load/file.ts";
import { type LoadedObject, loadObject, ObjectFinder } from "../load/objects.ts";
import { loadSymbolizer } from "../load/symbolizer.ts";

const EXECUTABLE = 1;
/** Length of memshade's build id for a wasm module without one: the first bytes of the file's hash. */
const HASH_BYTES = 20;

/** Number of named binaries that a message lists if none of them is right. */
const MOST_DESCRIBED = 2;

export interface BinaryPlaces {
  readonly binaries: readonly string[];
  /** Folders with such files, searched by build id. */
  readonly searchPaths: readonly string[];
}

/** Modules of a raw profile that have a binary, and build ids of those without one. */
export interface MatchedModules {
  readonly modules: readonly RawModule[];
  readonly matched: readonly { readonly buildId: string; readonly name: string }[];
  readonly unmatched: readonly string[];
  /** Modules without a binary; their frames are offsets in the module. */
  readonly unresolved: readonly RawModule[];
}

interface Binary {
  readonly loaded: LoadedObject;
  readonly framesAt: (address: number) => readonly MemprofFrame[];
}

/** Binaries by build id. Each is opened once, whatever the number of profiles. */
export class ProfiledBinaries {
  readonly #finder: ObjectFinder | undefined;
  readonly #searchPaths: readonly string[];
  readonly #named = new Map<string, LoadedObject>();
  readonly #opened = new Map<string, Binary | undefined>();

  /** @throws UserError if a named binary cannot be read or has no build id */
  constructor({ binaries, searchPaths }: BinaryPlaces) {
    for (const place of searchPaths)
      if (!statSync(place, { throwIfNoEntry: false })?.isDirectory())
        throw new UserError(`--search ${place}: there is no such folder`);
    this.#searchPaths = searchPaths.map((place) => resolve(place));
    this.#finder = searchPaths.length === 0 ? undefined : new ObjectFinder({ binaryPaths: searchPaths });
    for (const file of binaries) this.add(file);
  }

  add(file: string, buildId?: string): void {
    const loaded = loadObject(file);
    const id = buildId ?? buildIdOf(loaded);
    if (id === undefined) throw new UserError(`${file} has no build id (link with --build-id)`);
    if (!this.#named.has(id)) this.#named.set(id, loaded);
  }

  describe(): string {
    const descriptions = Array.from(this.#named, ([buildId, { path }]) => `that of ${path}, ${buildId}`);
    const more =
      descriptions.length > MOST_DESCRIBED ? ` and ${descriptions.length - MOST_DESCRIBED} more` : "";
    const places = this.#searchPaths.map((place) => `any below ${place}`);
    return [...descriptions.slice(0, MOST_DESCRIBED), ...places].join(", ") + more;
  }

  match(segments: readonly RawSegment[]): MatchedModules {
    const modules: RawModule[] = [];
    const matched = new Map<string, string>();
    const unmatched = new Set<string>();
    const unresolved: RawModule[] = [];
    for (const segment of segments) {
      const buildId = hexOf(segment.buildId);
      const binary = buildId === "" ? undefined : this.#open(buildId);
      if (binary === undefined) {
        unmatched.add(buildId === "" ? "<None>" : buildId);
        unresolved.push(unresolvedModule(segment, buildId));
        continue;
      }
      matched.set(buildId, binary.loaded.path);
      modules.push(moduleOf(segment, buildId, binary));
    }
    return {
      modules,
      matched: Array.from(matched, ([buildId, name]) => ({ buildId, name })),
      unmatched: [...unmatched].filter((buildId) => !matched.has(buildId)),
      unresolved,
    };
  }

  nameOf(buildId: string): string | undefined {
    return this.#open(buildId)?.loaded.path;
  }

  resolve({ buildId, offset }: UnresolvedPlace): readonly MemprofFrame[] | undefined {
    return buildId === "" ? undefined : this.#open(buildId)?.framesAt(offset);
  }

  /** Returns the binary with a build id, if it was named or is in a named folder. */
  find(buildId: string): LoadedObject | undefined {
    return this.#named.get(buildId) ?? this.#search(buildId);
  }

  #open(buildId: string): Binary | undefined {
    if (!this.#opened.has(buildId)) {
      const loaded = this.find(buildId);
      this.#opened.set(buildId, loaded && this.#binaryOf(loaded));
    }
    return this.#opened.get(buildId);
  }

  #search(buildId: string): LoadedObject | undefined {
    const found = this.#finder?.find({ path: buildId, buildId });
    if (found === undefined || !("object" in found)) return undefined;
    // The finder also searches the system's libraries, but profiles must not depend on installed software.
    const path = resolve(found.path);
    return this.#searchPaths.some((place) => path.startsWith(`${place}/`)) ? found : undefined;
  }

  #binaryOf(loaded: LoadedObject): Binary {
    const frames = loadAddressFrames(loaded, this.#finder);
    return { loaded, framesAt: (address) => memprofFrames(frames(address)) };
  }
}

/** Returns the segment of a process, with the translation of its PCs. */
function moduleOf(segment: RawSegment, key: string, { loaded, framesAt }: Binary): RawModule {
  const start = Number(segment.start);
  return {
    start,
    end: Number(segment.end),
    shift: linkAddressOf(segment, loaded.object) - start,
    key,
    framesAt,
  };
}

function unresolvedModule({ start, end, offset: base }: RawSegment, buildId: string): RawModule {
  return {
    start: Number(start),
    end: Number(end),
    shift: -Number(base),
    key: `[${buildId}]`,
    framesAt: (offset) => {
      const name = unresolvedName({ buildId, offset });
      return [{ guid: functionGuid(name), lineOffset: 0, column: 0, inline: false, name }];
    },
  };
}

/** Address in the file that corresponds to the start of a segment in the process. */
export function linkAddressOf({ start, end, offset }: RawSegment, object: ObjectFile): number {
  if (object.kind === "wasm") return 0;
  const executable = object.segments.filter(({ flags }) => (flags & EXECUTABLE) !== 0);
  const [only] = executable;
  if (executable.length === 1) return only!.address;
  const size = Number(end - start);
  const bySize = executable.filter(({ memorySize }) => memorySize === size);
  return bySize.length === 1 ? bySize[0]!.address : Number(start - offset);
}

/** Returns the build id, hexadecimal; for wasm modules without one, memshade's own. */
export function buildIdOf({ path, object }: LoadedObject): string | undefined {
  if (object.buildId !== undefined || object.kind === "elf") return object.buildId;
  return createHash("sha256")
    .update(readWholeFile(path))
    .digest("hex")
    .slice(0, 2 * HASH_BYTES);
}

export function noFrameNamed(matched: MatchedModules["matched"]): string {
  const names = matched.map(({ name }) => name).join(", ");
  return `no frame of it could be named: ${names} has no debug information for it`;
}

/**
 * Returns a message for a profile that cannot be symbolized.
 *
 * @param unmatched build ids of its modules, that of the program first
 */
export function noBinary(unmatched: readonly string[], binaries: ProfiledBinaries): string {
  const [program] = unmatched;
  const otherModules =
    unmatched.length > 1
      ? `, and its ${counted(unmatched.length - 1, "other module has", "other modules have")} none either`
      : "";
  const given = binaries.describe();
  const found = given === "" ? "name it with --binary, or a folder with it with --search" : `not ${given}`;
  return `there is no binary for it: its program has the build id ${program}${otherModules} (${found})`;
}

/** Returns the inline chain at an address of a file, innermost first; empty if no function is known. */
export type AddressFrames = (address: number) => readonly SourceFrame[];

/**
 * Symbolizes addresses by debug information alone. Symbol tables may name functions differently, and compilers that
 * use a profile match the names of debug information.
 *
 * @param finder finds separate debug information, if the file itself has none
 */
export function loadAddressFrames(loaded: LoadedObject, finder: ObjectFinder | undefined): AddressFrames {
  const { frames } = loadSymbolizer(loaded, {
    finder: finder ?? new ObjectFinder({ debugDirectories: [] }),
    useSymbolTable: false,
  });
  return (address) => {
    const found = frames(address);
    return found[0]?.linkageName === undefined ? [] : found;
  };
}
