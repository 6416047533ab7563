import { RA_SIGN_STATE, type UnwindTarget } from "../architecture.ts";
import { RuleSets } from "../cfi/rule-sets.ts";

const UNKNOWN = -1;

/**
 * A dictionary with the rules of the registers that a debugger shows, all that functions give back, filled as sets of
 * the full one are met.
 */
export class ReducedRules {
  readonly rules = new RuleSets();
  readonly #full: RuleSets;
  readonly #target: UnwindTarget;
  /** Index in `rules` of each set of the full dictionary; negative for those that were not met yet. */
  known = new Int32Array(1 << 14).fill(UNKNOWN);

  constructor(full: RuleSets, target: UnwindTarget) {
    this.#full = full;
    this.#target = target;
  }

  /** Index in `rules` of what is kept of a set of the full dictionary. */
  of(set: number): number {
    if (set >= this.known.length) {
      const larger = new Int32Array(2 * set).fill(UNKNOWN);
      larger.set(this.known);
      this.known = larger;
    }
    if (this.known[set] === UNKNOWN) this.known[set] = this.#reduce(set);
    return this.known[set];
  }

  #reduce(set: number): number {
    const column = this.#full.returnAddress(set);
    const { pc } = this.#target;
    const keeps = (register: number) => register <= pc || register === column || register === RA_SIGN_STATE;
    return this.rules.addReduced(this.#full, set, keeps);
  }
}
