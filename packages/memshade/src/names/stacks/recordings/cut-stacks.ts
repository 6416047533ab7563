import { groupDigits } from "../../../profile/model/counted.ts";
import type { SampleStack } from "./sample-walks.ts";

/** How much of a stack perf copies at most. */
const MOST_COPIED = 65_528;

/** Counts the stacks that perf cut: their way to the outermost call leads on behind the bytes that it copied. */
export class CutStacks {
  #unwound = 0;
  #cut = 0;
  #longest = 0;

  add({ sample: { stack, stackRoom }, end }: SampleStack): void {
    if (end === undefined || stack === undefined) return;
    this.#unwound++;
    // Fewer bytes than asked for are all that the stack has.
    if (end !== "memory" || stack.length < stackRoom) return;
    this.#cut++;
    this.#longest = Math.max(this.#longest, stackRoom);
  }

  /** How many there are, and what to record instead; nothing if there are none. */
  inWords(): string[] {
    if (this.#cut === 0) return [];
    const larger = this.#longest < MOST_COPIED ? `--call-graph dwarf,${MOST_COPIED} copies the most, ` : "";
    return [
      `${groupDigits(this.#cut)} of ${groupDigits(this.#unwound)} stacks were cut when recorded, their outer callers are missing: ` +
        `perf copied ${groupDigits(this.#longest)} bytes of them. ${larger}--call-graph lbr or fp copies no stack.`,
    ];
  }
}
