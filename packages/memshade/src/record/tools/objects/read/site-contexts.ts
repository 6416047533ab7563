import { entryOf } from "../../../../ground/bytes/entries.ts";
import type { ObjectPaths } from "../../../../profile/model/objects.ts";
import type { StackFrame } from "../../../../profile/model/working-set/working-set.ts";
import { NOWHERE } from "../../../contexts/layout.ts";
import { allocates, fixedLength } from "../instructions.ts";
import type { SizeModel } from "../size-model.ts";
import { type Counts, counterIn, type KnownObjects, type ObjectEvent } from "./counts.ts";
import type { ObjectTables } from "./object-tables.ts";

const NO_PATH = -1;

/** Call paths of all instances of a module, each stored once. */
export class CallPaths {
  /** Code offset of the innermost frame, or −1 minus its index in `#otherFrames`. */
  readonly #frame: number[] = [];
  readonly #caller: number[] = [];
  readonly #pathOfKey = new Map<number, number>();
  readonly #otherFrames: StackFrame[] = [];
  readonly #otherOfText = new Map<string, number>();

  /** Returns the path of a code offset, whose function was called by path `caller`. */
  at(caller: number, offset: number): number {
    const key = (caller + 1) * 2 ** 32 + (offset >>> 0);
    const existing = this.#pathOfKey.get(key);
    if (existing !== undefined) return existing;
    const path = this.#frame.push(offset) - 1;
    this.#caller.push(caller);
    this.#pathOfKey.set(key, path);
    return path;
  }

  ofOthers(frames: readonly StackFrame[]): number {
    return frames.reduceRight((caller, frame) => {
      const text = JSON.stringify(frame);
      const number = entryOf(this.#otherOfText, text, () => this.#otherFrames.push(frame) - 1);
      return this.at(caller, -1 - number);
    }, NO_PATH);
  }

  /** Describes the used paths and their callers, and maps each path to its number there. */
  describe(
    used: Iterable<number>,
    frameAt: (offset: number) => StackFrame,
  ): { frames: StackFrame[]; paths: ObjectPaths; numberOf: (path: number) => number } {
    const isUsed = new Uint8Array(this.#frame.length);
    for (const leaf of used)
      for (let path = leaf; path >= 0 && isUsed[path] === 0; path = this.#caller[path]) isUsed[path] = 1;
    const numbers = new Int32Array(this.#frame.length).fill(NO_PATH);
    const frames: StackFrame[] = [];
    const frameNumbers = new Map<number, number>();
    const paths: ObjectPaths = { frame: [], caller: [] };
    this.#frame.forEach((frame, path) => {
      if (isUsed[path] === 0) return;
      const number = entryOf(
        frameNumbers,
        frame,
        () => frames.push(frame < 0 ? this.#otherFrames[-1 - frame] : frameAt(frame)) - 1,
      );
      const caller = this.#caller[path];
      numbers[path] = paths.frame.push(number) - 1;
      paths.caller.push(caller < 0 ? NO_PATH : numbers[caller]);
    });
    return { frames, paths, numberOf: (path) => (path < 0 ? NO_PATH : numbers[path]) };
  }
}

/** Most contexts of a module that are listed, to bound the size of the file. */
const MOST_CONTEXTS = 65_536;

export interface SiteContext {
  readonly site: number;
  /** Offset of the site's instruction, and the path that ends there. */
  readonly offset: number;
  readonly path: number;
  objects: number;
  elements: number;
  bytes: number;
}

export interface CountedInstance {
  readonly tables: ObjectTables;
  readonly counts: Counts;
}

interface SiteEvent {
  readonly event: ObjectEvent;
  readonly site: number;
}

export class SiteContexts {
  readonly #knownObjects: KnownObjects;
  readonly #paths: CallPaths;
  readonly #model: SizeModel;
  readonly #siteOf: (event: number) => number | undefined;
  readonly #eventsOf = new Map<number, SiteEvent[]>();
  readonly #rows = new Map<string, SiteContext>();
  readonly #callerOfFrame = new Map<ObjectTables, Map<number, number>>();
  readonly #indices = new Map<string, number>();
  /** Contexts with most bytes. Objects of the other contexts are added to their sites without callers. */
  readonly listed: readonly SiteContext[];
  /** Objects without callers, because the tables of frames were full or there are too many contexts. */
  withoutCallers = 0;

  /** `siteOf`: returns the index of an event's site. `most`: most contexts that are listed with callers. */
  constructor(
    knownObjects: KnownObjects,
    paths: CallPaths,
    model: SizeModel,
    instances: readonly CountedInstance[],
    siteOf: (event: number) => number | undefined,
    most = MOST_CONTEXTS,
  ) {
    this.#knownObjects = knownObjects;
    this.#paths = paths;
    this.#model = model;
    this.#siteOf = siteOf;
    knownObjects.events.forEach((event, number) => {
      const site = siteOf(number);
      if (!allocates(event.op) || site === undefined) return;
      const events = entryOf(this.#eventsOf, event.defined, () => []);
      events.push({ event, site });
    });
    for (const instance of instances) this.#addInstance(instance);
    this.listed = this.#listContexts(most);
  }

  /**
   * Returns the index in `listed` of an event's objects in a frame (0 for no frame); undefined if there are
   * none.
   */
  indexOf(event: number, tables: ObjectTables, frame: number): number | undefined {
    const site = this.#siteOf(event);
    if (site === undefined) return undefined;
    const caller = this.#callerOfFrame.get(tables)?.get(frame) ?? NO_PATH;
    return this.#indices.get(keyOf(site, this.#paths.at(caller, this.#knownObjects.events[event].offset)));
  }

  #addInstance({ tables, counts: { table, frames } }: CountedInstance): void {
    const pathOf = pathsOfNodes(tables, this.#paths);
    const callerOf = new Map<number, number>();
    this.#callerOfFrame.set(tables, callerOf);
    for (const [address, { defined, node, counts }] of frames) {
      if (counts.every((count) => count === 0)) continue;
      const caller = pathOf(node);
      callerOf.set(address, caller);
      const made = this.#addFunction(defined, caller, undefined, counts);
      if (node === NOWHERE) this.withoutCallers += made;
    }
    for (const defined of this.#eventsOf.keys()) this.#addFunction(defined, NO_PATH, table, undefined);
  }

  /** @returns objects */
  #addFunction(
    defined: number,
    caller: number,
    table: Float64Array | undefined,
    frame: Float64Array | undefined,
  ): number {
    let made = 0;
    for (const { event, site } of this.#eventsOf.get(defined) ?? []) {
      const { offset, op, first, second, counter, elements: lengths } = event;
      const objects = counterIn(counter, table, frame);
      if (objects === 0) continue;
      const type = this.#knownObjects.module.types[first];
      const elements = lengths === 0 ? objects * fixedLength(op, second) : counterIn(lengths, table, frame);
      const bytes = objects * this.#model.fixedBytes(type) + elements * this.#model.elementBytes(type);
      add(this.#row(site, offset, caller), { objects, elements, bytes });
      made += objects;
    }
    return made;
  }

  #row(site: number, offset: number, caller: number): SiteContext {
    const path = this.#paths.at(caller, offset);
    const key = keyOf(site, path);
    return entryOf(this.#rows, key, () => ({ site, offset, path, objects: 0, elements: 0, bytes: 0 }));
  }

  #listContexts(most: number): SiteContext[] {
    // Contexts with as many bytes as the first one beyond the limit are all left out, so that the choice is
    // not arbitrary.
    const rows = [...this.#rows];
    const least =
      rows.length <= most
        ? -1
        : Float64Array.from(rows, ([, { bytes }]) => bytes).sort()[rows.length - most - 1];
    const listed: SiteContext[] = [];
    const list = (key: string, row: SiteContext): number => {
      const index = entryOf(this.#indices, key, () => listed.push(row) - 1);
      return index;
    };
    for (const [key, row] of rows) if (row.bytes > least) list(key, row);
    for (const [key, row] of rows) {
      if (row.bytes > least) continue;
      const { site, offset } = row;
      const alone = this.#row(site, offset, NO_PATH);
      const index = list(keyOf(site, alone.path), alone);
      this.#indices.set(key, index);
      if (row === alone) continue;
      add(alone, row);
      this.withoutCallers += row.objects;
    }
    return listed;
  }
}

type Made = Pick<SiteContext, "objects" | "elements" | "bytes">;

function add(sums: SiteContext, { objects, elements, bytes }: Made): void {
  sums.objects += objects;
  sums.elements += elements;
  sums.bytes += bytes;
}

function keyOf(site: number, path: number): string {
  return `${site}:${path}`;
}

function pathsOfNodes(tables: ObjectTables, paths: CallPaths): (node: number) => number {
  const pathOfNode = new Map<number, number>([
    [0, NO_PATH],
    [NOWHERE, NO_PATH],
  ]);
  const pathOf = (node: number): number => {
    const cached = pathOfNode.get(node);
    if (cached !== undefined) return cached;
    const { offset, parent } = tables.call(node);
    const path = paths.at(pathOf(parent), offset);
    pathOfNode.set(node, path);
    return path;
  };
  return pathOf;
}
