import { expect } from "vitest";
import { counted } from "../../../../../src/profile/model/counted.ts";
import type { InstrumentOptions } from "../../../../../src/record/tools/index.ts";
import { ReferenceHeap } from "./reference-heap.ts";
import { ScriptedHeap, type Site } from "./scripted-heap.ts";

/** If counters are merged, a loop over at least this number of bytes has all its accesses counted at its last address. */
const LONG_WALK = 528;

export interface Place {
  readonly address: number;
  readonly room: number;
}

/** A step of a program. Places are indices of a list. */
export type Step =
  | { kind: "malloc" | "calloc" | "aligned"; place: number; size: number; site: Site }
  | { kind: "free"; place: number }
  | { kind: "realloc"; from: number; to: number; size: number; site: Site }
  | { kind: "fail"; place: number; site: Site }
  | { kind: "load" | "store"; place: number; at: number; times: number }
  | { kind: "fill" | "walk"; place: number; bytes: number }
  | { kind: "grow"; from: number; to: number; bytes: number; moved: boolean; site: Site }
  | { kind: "stray"; address: number; reads: boolean };

/** Takes the same steps in the program and in the reference, and skips steps that are impossible at their moment. */
export class Replay {
  readonly program: ScriptedHeap;
  readonly reference: ReferenceHeap;
  readonly #sizes = new Map<number, number>();
  readonly #most: number;
  readonly #isExact: boolean;
  readonly #places: readonly Place[];
  #accesses = 0;

  constructor(options: InstrumentOptions, places: readonly Place[]) {
    this.#places = places;
    this.#most = options.maxBlocks ?? places.length;
    this.#isExact = options.exactHistogram === true;
    this.program = new ScriptedHeap(options);
    this.reference = new ReferenceHeap(options.exactHistogram === true);
  }

  take(step: Step): void {
    const { program, reference } = this;
    switch (step.kind) {
      case "malloc":
      case "calloc":
      case "aligned": {
        const { address, room } = this.#places[step.place];
        if (this.#sizes.has(step.place) || this.#sizes.size >= this.#most) return;
        const size = step.size % (room + 1);
        this.#sizes.set(step.place, size);
        const context = { malloc: "malloc", calloc: "calloc", aligned: "aligned_alloc" }[step.kind];
        if (step.kind === "malloc") program.malloc(address, size, step.site);
        else if (step.kind === "calloc") program.calloc(address, 1, size, step.site);
        else program.alignedAlloc(address, size, step.site);
        reference.allocate(address, size, `${context}_${step.site}`);
        return;
      }
      case "free":
        // The place may be empty: such a release must have no effect.
        program.free(this.#places[step.place].address);
        reference.release(this.#places[step.place].address);
        this.#sizes.delete(step.place);
        return;
      case "realloc": {
        const old = this.#sizes.has(step.from) ? this.#places[step.from].address : 0;
        if (this.#sizes.has(step.to) && step.from !== step.to) return;
        if (old === 0 && this.#sizes.size >= this.#most) return;
        const size = step.size % (this.#places[step.to].room + 1);
        program.realloc(old, this.#places[step.to].address, size, step.site);
        reference.reallocate(old, this.#places[step.to].address, size, `realloc_${step.site}`);
        this.#sizes.delete(step.from);
        this.#sizes.set(step.to, size);
        return;
      }
      case "fail": {
        // Out of memory for an existing block, or release by realloc.
        const old = this.#sizes.has(step.place) ? this.#places[step.place].address : 0;
        const size = step.site === "a" ? 0 : 1 << 20;
        program.malloc(0, 1 << 30, step.site);
        program.realloc(old, 0, size, step.site);
        reference.reallocate(old, 0, size, "");
        if (size === 0) this.#sizes.delete(step.place);
        return;
      }
      case "load":
      case "store": {
        const size = this.#sizes.get(step.place);
        if (!size) return;
        const address = this.#places[step.place].address + (step.at % size);
        program[step.kind](address, step.times);
        for (let i = 0; i < step.times; i++) this.#access(address, step.kind === "load");
        if (step.kind === "store") reference.put(address, 1);
        return;
      }
      case "fill":
      case "walk": {
        const size = this.#sizes.get(step.place);
        const bytes = size === undefined ? 0 : (step.bytes % (size + 1)) & ~7;
        if (bytes === 0) return;
        const { address } = this.#places[step.place];
        program[step.kind](address, bytes);
        const apart = step.kind === "fill" ? 8 : 4;
        for (let at = 0; at < bytes; at += apart) {
          const isAtLast = step.kind === "walk" && !this.#isExact && bytes >= LONG_WALK;
          if (isAtLast) reference.touch(address + at);
          this.#access(isAtLast ? address + bytes - 4 : address + at, false);
          reference.put(address + at, ...(step.kind === "fill" ? Array<number>(8).fill(1) : [1, 0, 0, 0]));
        }
        return;
      }
      case "grow": {
        // Copies as a vector does, or writes other contents to the old block, whose old ones have moved.
        const size = this.#sizes.get(step.from);
        const [old, next] = [this.#places[step.from].address, this.#places[step.to].address];
        if (size === undefined || size < 16 || this.#sizes.has(step.to) || this.#sizes.size >= this.#most)
          return;
        const larger = Math.min(this.#places[step.to].room, size + step.bytes);
        if (larger < size) return;
        program.malloc(next, larger, step.site);
        reference.allocate(next, larger, `malloc_${step.site}`);
        program.put(old, 7);
        reference.put(old, 7);
        this.#access(old, false);
        program.copy(next, old, size);
        reference.put(next, ...reference.contentsAt(old, size));
        for (let at = 0; at < size; at += 8) {
          this.#access(next + at, false);
          this.#access(old + at, true);
        }
        if (step.moved) {
          program.put(old, 8);
          reference.put(old, 8);
          this.#access(old, false);
        }
        program.free(old);
        reference.release(old);
        this.#sizes.delete(step.from);
        this.#sizes.set(step.to, larger);
        return;
      }
      case "stray":
        if (step.reads) program.load(step.address);
        else {
          program.store(step.address);
          reference.put(step.address, 1);
        }
        this.#access(step.address, step.reads);
    }
  }

  #access(address: number, reads: boolean): void {
    this.#accesses++;
    this.reference.access(address, reads);
  }

  expectEqualTotals(): void {
    const { heap, notTracked } = this.program.profiled.snapshot();
    const { allocations, frees, peakBytes, peakBlocks, liveBytes, liveBlocks } = this.reference;
    expect(heap).toMatchObject({ allocations, frees, peakBytes, peakBlocks, liveBytes, liveBlocks });
    expect(heap.heapAccesses + heap.otherAccesses).toBe(this.#accesses);
    const { unmatchedFrees } = this.reference;
    expect(notTracked).toEqual(
      unmatchedFrees === 0
        ? []
        : [
            `${counted(unmatchedFrees, "block was freed", "blocks were freed")} whose allocation was not recorded.`,
          ],
    );
  }

  expectEqualContexts(): void {
    const measured = new Map(
      this.program.profiled
        .contexts()
        .map(({ stack, mib, site: { stackId, keptAfterUse, ...extras } }) => [stack.join(), { mib, extras }]),
    );
    expect(measured).toEqual(this.reference.contexts);
    expect(this.program.profiled.heap.heapAccesses).toBe(this.reference.heapAccesses);
  }

  /** Ends all live blocks before figures are compared that depend on the order of ends, which is unspecified. */
  releaseAll(): void {
    for (const index of [...this.#sizes.keys()].sort((a, b) => ((a * 7) % 5) - ((b * 7) % 5)))
      this.take({ kind: "free", place: index });
  }
}
