import { isUnresolved, type ProfileMerger } from "../../model/memprof/index.ts";
import type { RawModule } from "./raw-module.ts";

const AS_CALLER = 1;
const AS_LEAF = 2;

/**
 * Addresses with their frames, over all profiles of a merge. Location 0 has no frames. A location that is used adds
 * the call sites that it stands for: its whole inline chain in every function of the chain, except, for the
 * allocation call itself, in the innermost one.
 */
export class LocationTable {
  #merger: ProfileMerger;
  readonly #byAddress = new Map<string, Map<number, number>>();
  /** Frames of each location, outermost first. */
  readonly #frames: number[][] = [[]];
  readonly #uses: number[] = [0];
  readonly #places = new Set<number>();

  constructor(merger: ProfileMerger) {
    this.#merger = merger;
  }

  /** Goes on with another merger, which has the frames and the call sites of the one before. */
  moveTo(merger: ProfileMerger): void {
    this.#merger = merger;
  }

  at({ key, framesAt }: RawModule, address: number): number {
    let known = this.#byAddress.get(key);
    if (known === undefined) {
      known = new Map();
      this.#byAddress.set(key, known);
    }
    let location = known.get(address);
    if (location === undefined) {
      const found = framesAt(address);
      location = this.#add(found.map((frame) => this.#merger.frames.intern(frame)));
      if (isUnresolved(found[0]?.name)) this.#places.add(location);
      known.set(address, location);
    }
    return location;
  }

  /** Whether a location is known as a place in a module alone. */
  isPlace(location: number): boolean {
    return this.#places.size > 0 && this.#places.has(location);
  }

  framesOf(location: number): readonly number[] {
    return this.#frames[location]!;
  }

  useAsCaller(location: number): void {
    if ((this.#uses[location]! & AS_CALLER) === 0) this.#addCallSites(location, AS_CALLER);
  }

  useAsLeaf(location: number): void {
    if ((this.#uses[location]! & AS_LEAF) === 0) this.#addCallSites(location, AS_LEAF);
  }

  #add(innermostFirst: readonly number[]): number {
    if (innermostFirst.length === 0) return 0;
    const frames = innermostFirst.toReversed();
    this.#uses.push(0);
    return this.#frames.push(frames) - 1;
  }

  #addCallSites(location: number, use: number): void {
    this.#uses[location]! |= use;
    const frames = this.#frames[location]!;
    const last = use === AS_LEAF ? frames.length - 1 : frames.length;
    if (last === 0) return;
    const { stacks, callSites, frames: table } = this.#merger;
    const chain = frames.reduce((stack, frame) => stacks.child(stack, frame), 0);
    for (const frame of frames.slice(0, last)) callSites.add(table.at(frame).guid, chain, undefined);
  }
}
