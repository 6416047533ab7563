import { decode, FLOW, hasTarget, Instruction } from "../../../code/x64/decode/index.ts";
import { KEPT_BY_CALLS } from "../../../code/x64/index.ts";
import { type Code, type CodeFunction, endsPath, TRAIT } from "./code.ts";

/**
 * Which instructions of a function set a register that others read, on some way that leads straight or by direct jumps from one to the
 * other. What calls may overwrite does not come from in front of them.
 */
export class ReachingAddresses {
  readonly #code: Code;
  readonly #function: CodeFunction;
  readonly #instruction = new Instruction();
  /** Per register: instructions that have been looked in front of. */
  readonly #visited = new Map<number, Set<number>>();
  /** Direct jumps of the function by where they lead. */
  #jumpsTo: Map<number, number[]> | undefined;

  constructor(code: Code, one: CodeFunction) {
    this.#code = code;
    this.#function = one;
  }

  /** Instructions that write a register which instruction `readAt` reads; each is given once for a register. */
  *writersOf(register: number, readAt: number): Iterable<number> {
    const visited = this.#visited.get(register) ?? new Set();
    this.#visited.set(register, visited);
    const waiting = [readAt];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (visited.has(at)) continue;
      visited.add(at);
      for (const before of this.#before(at, register)) {
        decode(this.#code.bytes, this.#code.offsets[before], this.#instruction);
        if ((this.#instruction.writes & (1 << register)) !== 0) yield before;
        else waiting.push(before);
      }
    }
  }

  /** Instructions that an instruction may follow. */
  #before(at: number, register: number): number[] {
    const { offsets, flows, traits } = this.#code;
    const before = (traits[at] & TRAIT.leader) === 0 ? [] : [...(this.#jumps().get(offsets[at]) ?? [])];
    const last = at - 1;
    const isCall = flows[last] === FLOW.call || flows[last] === FLOW.indirectCall;
    const isLost = isCall && (KEPT_BY_CALLS & (1 << register)) === 0;
    if (last >= this.#function.first && !endsPath(flows[last]) && !isLost) before.push(last);
    return before;
  }

  #jumps(): Map<number, number[]> {
    if (this.#jumpsTo !== undefined) return this.#jumpsTo;
    this.#jumpsTo = new Map();
    const { flows, targets } = this.#code;
    for (let i = this.#function.first; i < this.#function.last; i++) {
      if (!hasTarget(flows[i]) || flows[i] === FLOW.call) continue;
      const known = this.#jumpsTo.get(targets[i]);
      if (known === undefined) this.#jumpsTo.set(targets[i], [i]);
      else known.push(i);
    }
    return this.#jumpsTo;
  }
}
