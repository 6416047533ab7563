import { type FlowParts, type ImpliedRuns, impliedRuns, runFlow } from "../../index.ts";
import { has } from "./tables.ts";

const NONE: readonly ImpliedRuns[] = [];

/** How often blocks ran that have no counter, from those that have one. */
export class BlockRuns {
  readonly #parts: FlowParts;
  readonly #implied: Uint8Array;
  readonly #ofFunction = new Map<number, readonly ImpliedRuns[]>();

  /** `parts`: of the original module. `implied`: a bit per leader whose block has no counter. */
  constructor(parts: FlowParts, implied: Uint8Array) {
    this.#parts = parts;
    this.#implied = implied;
  }

  /** Whether a site begins a block without a counter. */
  isImplied(site: number): boolean {
    return has(this.#implied, site);
  }

  /** What follows from what, in a defined function: each needs those before it only. */
  of(defined: number): readonly ImpliedRuns[] {
    const known = this.#ofFunction.get(defined);
    if (known !== undefined) return known;
    const found = this.#isAnyImplied(defined)
      ? impliedRuns(runFlow(this.#parts, defined), (site) => this.isImplied(site))
      : NONE;
    this.#ofFunction.set(defined, found);
    return found;
  }

  /** Given in `runs`, by leader, what was counted in a defined function: sets what follows from that. */
  complete(defined: number, runs: Float64Array): void {
    for (const { leader, plus, minus } of this.of(defined)) {
      let sum = 0;
      for (const other of plus) sum += runs[other];
      for (const other of minus) sum -= runs[other];
      // A trap that cut a run short may leave one run too few.
      runs[leader] = Math.max(sum, 0);
    }
  }

  #isAnyImplied(defined: number): boolean {
    const { firstOfFunction } = this.#parts.sites;
    for (let site = firstOfFunction[defined]; site < firstOfFunction[defined + 1]; site++)
      if (this.isImplied(site)) return true;
    return false;
  }
}
