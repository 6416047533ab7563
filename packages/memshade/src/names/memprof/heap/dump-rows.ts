import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
import type { RawCursor, RawScan, RawSegment } from "../../../profile/formats/memprof-raw/index.ts";
import { mibBytesOf } from "../../../profile/formats/memprof-raw/layout.ts";
import { haveEqualSegments } from "../../../profile/formats/memprof-raw/merge-dumps.ts";
import type { HeapProfile, ProfileDescription, ProfileModule } from "../../../profile/model/heap-profile.ts";
import { HeapProfileBuilder } from "../../../profile/model/heap-profile-builder.ts";
import { mibFromPacked } from "../../../profile/model/memprof/merge/block-merge.ts";
import { GrowingMibColumns } from "../../../profile/model/mib-columns.ts";
import type { CodeModules, CodePlace } from "./code-modules.ts";

/** Code in no module: made while the program ran, or what a stack without frame pointers had in its place. */
const UNKNOWN_CODE: CodePlace = {
  frames: [{ name: "[unknown code]", offset: 0 }],
  isRuntime: false,
  isMain: false,
};

/** Collects the contexts of dumps. Those with the same call path are one. */
export class DumpRows {
  /** Dumps of processes that had one before. */
  repeatedDumps = 0;
  /** Contexts with a size of 0, which no block has: what is asked for without a size has a byte. */
  sizeless = 0;
  readonly #code: CodeModules;
  readonly #modules: ProfileModule[] = [];
  readonly #description: { -readonly [Key in keyof ProfileDescription]: ProfileDescription[Key] } = {
    clock: { kind: "wall", unit: "ms" },
    granuleBytes: 8,
    rawVersion: 0,
    notTracked: [],
  };
  readonly #builder = new HeapProfileBuilder(this.#description, this.#modules);
  readonly #mibs = new GrowingMibColumns();
  readonly #rowOf = new Map<number, number>();
  #rows = 0;
  #lastProcess: readonly RawSegment[] | undefined;
  #processes = 0;

  constructor(code: CodeModules) {
    this.#code = code;
  }

  /** Dumps of one process stand behind each other. */
  add(dump: RawScan): void {
    if (this.#lastProcess !== undefined && haveEqualSegments(this.#lastProcess, dump.segments))
      this.repeatedDumps++;
    else this.#processes++;
    this.#lastProcess = dump.segments;
    const places = new ProcessPlaces(this.#code, dump.segments, this.#processes);
    // The program stands in front of its libraries.
    if (dump.length > 0 && dump.segments.length > 0) this.#code.at(dump.segments[0]!, 0, this.#processes);
    const isNative = areOfSystem(dump.segments);
    const mibBytes = mibBytesOf(dump.version);
    const cursor = dump.contexts();
    while (cursor.next()) {
      const mib = mibFromPacked(cursor.mib, cursor.mibAt, mibBytes);
      const histogram = cursor.histogram();
      if (histogram !== undefined) mib.histogram = [...histogram];
      if (mib.allocCount > 0 && mib.minSize === 0) this.sizeless++;
      const path = places.pathOf(cursor);
      const stack = this.#stackOf(isNative ? withoutEnds(path) : path);
      const row = this.#rowOf.get(stack);
      if (row !== undefined && this.#mibs.combine(row, mib)) continue;
      this.#rowOf.set(stack, this.#rows++);
      this.#builder.addStack(BigInt(this.#rows), stack);
      this.#mibs.add(mib);
    }
  }

  build(description: ProfileDescription): HeapProfile {
    Object.assign(this.#description, description);
    this.#modules.push(...this.#code.all.map((module) => module.describe()));
    return this.#builder.build(this.#mibs.build());
  }

  /** @param path innermost first */
  #stackOf(path: readonly CodePlace[]): number {
    let stack = 0;
    for (let index = path.length - 1; index >= 0; index--) {
      const { module, frames } = path[index]!;
      if (module !== undefined) module.isShown = true;
      for (let depth = frames.length - 1; depth >= 0; depth--)
        stack = this.#builder.child(stack, frames[depth]!);
    }
    return stack;
  }
}

/** A path without the runtime's function that allocates, unless nothing else is there, and without what calls `main`. */
function withoutEnds(path: readonly CodePlace[]): readonly CodePlace[] {
  const main = path.findIndex(({ isMain }) => isMain);
  const end = main < 0 ? path.length : main + 1;
  return path.slice(end > 1 && path[0]!.isRuntime ? 1 : 0, end);
}

/** Whether these are modules of a program for an operating system: of WebAssembly, each begins at a multiple of 4 GiB. */
export function areOfSystem(segments: readonly RawSegment[]): boolean {
  return segments.some(({ start, offset }) => start !== offset || (start & 0xffff_ffffn) !== 0n);
}

/** Places of one process by their PCs. */
class ProcessPlaces {
  readonly #code: CodeModules;
  readonly #processNumber: number;
  /** In the order of their addresses. */
  readonly #segments: readonly { readonly segment: RawSegment; readonly position: number }[];
  readonly #known = new Map<number, CodePlace>();

  constructor(code: CodeModules, segments: readonly RawSegment[], processNumber: number) {
    this.#code = code;
    this.#processNumber = processNumber;
    this.#segments = segments
      .map((segment, position) => ({ segment, position }))
      .sort((a, b) => Number(a.segment.start - b.segment.start));
  }

  /** Innermost first. */
  pathOf({ pcs, pcsAt, depth }: RawCursor): CodePlace[] {
    const path: CodePlace[] = [];
    for (let at = pcsAt; at < pcsAt + 8 * depth; at += 8)
      path.push(this.#at(pcs.getUint32(at, true) + pcs.getUint32(at + 4, true) * 2 ** 32));
    return path;
  }

  #at(pc: number): CodePlace {
    let place = this.#known.get(pc);
    if (place === undefined) {
      place = this.#find(pc);
      this.#known.set(pc, place);
    }
    return place;
  }

  /** A PC lies behind the start of its segment, and at most at its end. */
  #find(pc: number): CodePlace {
    const segments = this.#segments;
    const next = partitionPoint(0, segments.length, (index) => Number(segments[index]!.segment.start) < pc);
    const last = segments[next - 1];
    if (last === undefined || pc > Number(last.segment.end)) return UNKNOWN_CODE;
    const module = this.#code.at(last.segment, last.position, this.#processNumber);
    return module.placeAt(pc + module.shiftOf(last.segment));
  }
}
