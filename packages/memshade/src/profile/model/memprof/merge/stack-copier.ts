import { frameAt, type MemprofFrame } from "../frame-table.ts";
import type { MemprofProfile } from "../profile.ts";
import { isUnresolved, type UnresolvedPlace, unresolvedPlace } from "../unresolved.ts";
import type { MergeTables } from "./merge-tables.ts";

/** Frames of a place that a profile has by its module and offset alone, innermost first; undefined where unknown. */
export type ResolvePlace = (place: UnresolvedPlace) => readonly MemprofFrame[] | undefined;

type ProfileStacks = Pick<MemprofProfile, "frames" | "stacks">;

/** Brings the stacks of a profile into a merger. Places of modules are resolved, kept or left out. */
export class StackCopier {
  /** By stack of the profile: that of the merger. */
  readonly copies: Uint32Array;
  readonly #merger: MergeTables;
  readonly #profile: ProfileStacks;
  /** By frame of the profile: those of the merger, outermost first. */
  readonly #frames: (readonly number[])[];
  /** By frame: 1 for a place that became frames. */
  readonly #wasResolved: Uint8Array;
  #hasResolved = false;

  constructor(merger: MergeTables, profile: ProfileStacks, resolve: ResolvePlace | undefined) {
    this.#merger = merger;
    this.#profile = profile;
    this.#wasResolved = new Uint8Array(profile.frames.length);
    this.#frames = Array.from({ length: profile.frames.length }, (_, index) =>
      this.#copyFrame(index, resolve),
    );
    const { length, parent, frame } = profile.stacks;
    this.copies = new Uint32Array(length);
    for (let stack = 1; stack < length; stack++) {
      let copy = this.copies[parent[stack]!]!;
      for (const one of this.#frames[frame[stack]!]!) copy = merger.stacks.child(copy, one);
      this.copies[stack] = copy;
    }
  }

  #copyFrame(index: number, resolve: ResolvePlace | undefined): number[] {
    const merger = this.#merger;
    const profile = this.#profile;
    const wasResolved = this.#wasResolved;
    const frame = frameAt(profile.frames, index);
    const place = unresolvedPlace(frame.name);
    if (place === undefined) return [merger.frames.intern(frame)];
    const found = resolve?.(place);
    if (found !== undefined) {
      wasResolved[index] = 1;
      this.#hasResolved = true;
      return found.map((each) => merger.frames.intern(each)).reverse();
    }
    return merger.keepsUnresolved ? [merger.frames.intern(frame)] : [];
  }

  /** Adds the calls on the way to a context, if some of them are known only now. */
  addResolvedCalls(stack: number): void {
    if (!this.#isResolved(stack)) return;
    const { stacks, frames, callSites } = this.#merger;
    let isLeaf = true;
    for (let at = this.copies[stack]!; at !== 0; ) {
      // One call: its inline chain, innermost first.
      const chain: number[] = [];
      for (let isInline = true; isInline && at !== 0; at = stacks.parentOf(at)) {
        chain.push(stacks.frameOf(at));
        isInline = frames.at(chain.at(-1)!).inline;
      }
      if (isUnresolved(frames.at(chain[0]!).name)) continue;
      // The innermost function of the allocation call itself is where the allocation is, not a call.
      const callers = isLeaf ? chain.slice(1) : chain;
      isLeaf = false;
      if (callers.length === 0) continue;
      const call = chain.reduceRight((caller, frame) => stacks.child(caller, frame), 0);
      for (const frame of callers) callSites.add(frames.at(frame).guid, call, undefined);
    }
  }

  #isResolved(stack: number): boolean {
    if (!this.#hasResolved) return false;
    const { parent, frame } = this.#profile.stacks;
    for (let at = stack; at !== 0; at = parent[at]!) if (this.#wasResolved[frame[at]!] === 1) return true;
    return false;
  }
}
