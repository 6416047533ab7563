import fs from "node:fs";
import path from "node:path";
import { entryOf } from "../ground/bytes/entries.ts";
import { readRegular } from "../names/load/file.ts";
import { writeWholeFile } from "../names/load/whole-file.ts";
import type { Frame } from "../names/symbolize/frame.ts";
import type { TypeHoles } from "../profile/model/heap-profile.ts";
import { NAMES_FILE, NAMES_SCHEMA, type RunModule } from "../profile/model/run.ts";

interface NamedPlace {
  /** Frames, innermost first. */
  frames?: readonly Frame[];
  /** Start of the enclosing function, by unwind tables and by symbols. */
  start?: number | undefined;
  symbolStart?: number | undefined;
  /** Type of the blocks that the call allocates, if its members have holes. */
  holes?: TypeHoles | undefined;
}

interface ObjectNames {
  readonly places: Map<number, NamedPlace>;
  /**
   * Sentences about missing files when the names were resolved. Each is the end of a sentence that begins
   * with the path.
   */
  missing: readonly string[];
}

const VERSION = 1;

type StoredFrame = [
  name: number,
  linkageName: number,
  file: number,
  line: number,
  column: number,
  startLine: number,
  flags: number,
];
const FLAG = { inlined: 1, handsOutMemory: 2, approximate: 4 } as const;

type StoredHoles = [address: number, type: number, size: number, needed: number];

interface StoredNames {
  /** Name and version of the format. */
  schema: string;
  version: number;
  /** Names and paths. */
  texts: string[];
  /**
   * Frames. Names and the file are indices of texts (−1: none); lines and columns count from 1 (0: none). Flags: 1
   * inlined, 2 allocates for others, 4 line of an earlier position.
   */
  frames: StoredFrame[];
  /** Objects of the program. */
  objects: {
    /** Start of the object, as in run.json. */
    start: string;
    /** Sentences about missing debug information. */
    missing: string[];
    /**
     * Code positions by address: address, its frames, and the start of its function by unwind tables and by symbols; null for a value
     * that was not requested.
     */
    places: [address: number, frames: number[] | null, start: number | null, symbolStart: number | null][];
    /** Types with holes, by the address of the call that allocates them: name, size, and size without holes. */
    holes?: StoredHoles[] | undefined;
  }[];
}

/**
 * Names and lines of a native program's places, as resolved at the end of its run. Objects may be replaced by
 * newer ones later, and those of a container are deleted with it.
 */
export class RunNames {
  readonly #objects = new Map<string, ObjectNames>();

  /** Returns the names of the object that starts at an address of the run; undefined if there are none. */
  namesOf(start: string): ObjectNames | undefined {
    return this.#objects.get(start);
  }

  ofNew(start: string): ObjectNames {
    const names = entryOf(this.#objects, start, () => ({ places: new Map(), missing: [] }));
    return names;
  }

  note(start: string, address: number, more: NamedPlace): void {
    const { places } = this.ofNew(start);
    places.set(address, { ...places.get(address), ...more });
  }

  /** Marks the functions at a noted place as layers on the allocator. */
  noteLayer(start: string, address: number): void {
    const frames = this.ofNew(start).places.get(address)?.frames;
    if (frames !== undefined)
      this.note(start, address, { frames: frames.map((frame) => ({ ...frame, handsOutMemory: true })) });
  }

  /** Writes the names beside a run; nothing if there are none. @throws UserError if they cannot be written */
  write(folder: string): void {
    if (this.#objects.size === 0) return;
    const text = JSON.stringify(this.#toStored());
    writeWholeFile(path.join(folder, NAMES_FILE), (file) => file.write(`${text}\n`));
  }

  #toStored(): StoredNames {
    const texts = new Numbers<string>();
    const frames = new Numbers<string>();
    const numberOf = (text: string | undefined): number => (text === undefined ? -1 : texts.numberOf(text));
    const frameOf = (frame: Frame): number => {
      const flags =
        (frame.inlined ? FLAG.inlined : 0) |
        (frame.handsOutMemory ? FLAG.handsOutMemory : 0) |
        (frame.approximate ? FLAG.approximate : 0);
      const stored: StoredFrame = [
        ...([frame.function, frame.linkageName, frame.file].map(numberOf) as [number, number, number]),
        ...([frame.line, frame.column, frame.startLine] as const),
        flags,
      ];
      return frames.numberOf(JSON.stringify(stored));
    };
    const objects = [...this.#objects].map(([start, { places, missing }]) => ({
      start,
      missing: [...missing],
      places: [...places]
        .sort(([a], [b]) => a - b)
        .map(([address, place]): StoredNames["objects"][number]["places"][number] => [
          address,
          place.frames?.map(frameOf) ?? null,
          place.start ?? null,
          place.symbolStart ?? null,
        ]),
      holes: [...places].flatMap(([address, { holes }]): StoredHoles[] =>
        holes === undefined ? [] : [[address, texts.numberOf(holes.type), holes.size, holes.needed]],
      ),
    }));
    return {
      schema: NAMES_SCHEMA,
      version: VERSION,
      texts: texts.values,
      frames: frames.values.map((text) => JSON.parse(text) as StoredFrame),
      objects,
    };
  }

  /**
   * Reads the names beside a run; undefined if the file is missing, damaged or of another version. Names then
   * come from the objects.
   */
  static read(folder: string): RunNames | undefined {
    const file = path.join(folder, NAMES_FILE);
    if (!fs.existsSync(file)) return undefined;
    try {
      const stored = JSON.parse(readRegular(file).toString()) as StoredNames;
      return stored.schema === NAMES_SCHEMA && stored.version === VERSION
        ? RunNames.#fromStored(stored)
        : undefined;
    } catch {
      return undefined;
    }
  }

  static #fromStored({ texts, frames, objects }: StoredNames): RunNames {
    const names = new RunNames();
    const textOf = (number: number): string | undefined => {
      if (number === -1) return undefined;
      const text: unknown = texts[number];
      if (typeof text !== "string") throw new TypeError("there is no such text");
      return text;
    };
    const allFrames = frames.map(([name, linkageName, file, line, column, startLine, flags]): Frame => {
      if (![line, column, startLine, flags].every(Number.isSafeInteger))
        throw new TypeError("it is no frame");
      return {
        function: textOf(name),
        linkageName: textOf(linkageName),
        file: textOf(file),
        line,
        column,
        startLine,
        discriminator: 0,
        inlined: (flags & FLAG.inlined) !== 0,
        ...((flags & FLAG.handsOutMemory) !== 0 ? { handsOutMemory: true } : {}),
        ...((flags & FLAG.approximate) !== 0 ? { approximate: true } : {}),
      };
    });
    const frameOf = (number: number): Frame => {
      const frame = allFrames[number];
      if (frame === undefined) throw new TypeError("there is no such frame");
      return frame;
    };
    for (const { start, missing, places, holes = [] } of objects) {
      names.ofNew(start).missing = missing.filter((sentence) => typeof sentence === "string");
      for (const [address, inner, begins, symbolStart] of places)
        names.note(start, address, {
          ...(inner === null ? {} : { frames: inner.map(frameOf) }),
          ...(begins === null ? {} : { start: begins }),
          ...(symbolStart === null ? {} : { symbolStart }),
        });
      for (const [address, type, size, needed] of holes)
        names.note(start, address, { holes: { type: textOf(type) ?? "", size, needed } });
    }
    return names;
  }
}

class Numbers<T> {
  readonly values: T[] = [];
  readonly #numbers = new Map<T, number>();

  numberOf(value: T): number {
    return entryOf(this.#numbers, value, () => this.values.push(value) - 1);
  }
}

/** Folders of runs, by the modules read from them. */
const folders = new WeakMap<
  readonly RunModule[],
  { folder: string; names?: RunNames | undefined; isRead?: boolean }
>();

/** Records the folder that a run's modules were read from. */
export function cameFrom(modules: readonly RunModule[], folder: string): void {
  folders.set(modules, { folder });
}

/** Returns the names stored beside a run, given by its modules; undefined if there are none. */
export function namesOf(modules: readonly RunModule[] | undefined): RunNames | undefined {
  const from = modules && folders.get(modules);
  if (from === undefined || modules?.some(({ object }) => object !== undefined) !== true) return undefined;
  if (from.isRead !== true) {
    from.names = RunNames.read(from.folder);
    from.isRead = true;
  }
  return from.names;
}
