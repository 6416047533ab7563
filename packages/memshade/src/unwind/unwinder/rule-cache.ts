import { CFA_RULE, RULE } from "../cfi/rule-sets.ts";
import type { UnwindTable } from "../tables/unwind-table.ts";
import type { ModuleMap } from "./modules.ts";
import { isSignalFrame } from "./step.ts";

const CACHE_BITS = 12;

/** Kinds of rules that need nothing but the stack pointer and the frame pointer. */
export const SMALL_RULE = {
  /** Anything else: to be done the long way. */
  none: 0,
  /** CFA = stack pointer + offset */
  stackPointer: 1,
  /** CFA = frame pointer + offset */
  framePointer: 2,
  /** There is no caller. */
  outermost: 3,
} as const;

/** In place of an offset: the frame pointer is unchanged. */
export const UNCHANGED = 0x7fff_ffff;

/**
 * Rules of the addresses that were looked up last, in a small form. Profiles come back to the same addresses over and
 * over, so that most frames need neither a search nor the rules themselves.
 */
export class RuleCache {
  readonly #modules: ModuleMap;
  readonly #addresses = new Float64Array(1 << CACHE_BITS).fill(Number.NaN);
  /** Per slot: the kind, offset of the CFA, then from the CFA those of the return address and of the frame pointer. */
  readonly rules = new Int32Array(4 << CACHE_BITS);
  #version = -1;

  constructor(modules: ModuleMap) {
    this.#modules = modules;
  }

  /** Forgets everything if modules came or went since the last stack. */
  refresh(): void {
    if (this.#version === this.#modules.version) return;
    this.#version = this.#modules.version;
    this.#addresses.fill(Number.NaN);
  }

  /** Index in `rules` of the rule for a frame's pc. */
  find(pc: number, isCaller: boolean): number {
    const address = isCaller ? pc - 1 : pc;
    const slot = Math.imul(address | 0, 0x9e3779b1) >>> (32 - CACHE_BITS);
    if (this.#addresses[slot] !== address) this.#fill(slot, address, pc, isCaller);
    return slot << 2;
  }

  #fill(slot: number, address: number, pc: number, isCaller: boolean): void {
    const { rules } = this;
    this.#addresses[slot] = address;
    const at = slot << 2;
    rules[at] = SMALL_RULE.none;
    const module = this.#modules.find(address);
    const table = module?.table;
    if (module === undefined || table === undefined) return;
    const set = table.find(address - module.bias);
    if (set === 0 || isSignalFrame(table, set)) return;
    if (isCaller) {
      const own = table.find(pc - module.bias);
      if (own !== 0 && isSignalFrame(table, own)) return;
    }
    this.#compile(table, set, at);
  }

  #compile({ rules: sets, target }: UnwindTable, set: number, at: number): void {
    const { rules } = this;
    const { words } = sets;
    const column = sets.returnAddress(set);
    const returnAddress = sets.find(set, column);
    if (column !== target.returnAddress || returnAddress < 0 || target.wordSize !== 8) return;
    if ((words[returnAddress] & 0xff) === RULE.undefined) {
      rules[at] = SMALL_RULE.outermost;
      return;
    }
    if ((words[returnAddress] & 0xff) !== RULE.offset || sets.cfaRule(set) !== CFA_RULE.register) return;
    const base = sets.cfaRegister(set);
    if (base !== target.stackPointer && base !== target.framePointer) return;
    // A rule of its own for the stack pointer is rare.
    if (sets.find(set, target.stackPointer) >= 0) return;
    const framePointer = sets.find(set, target.framePointer);
    const framePointerRule = framePointer < 0 ? RULE.same : words[framePointer] & 0xff;
    if (framePointerRule !== RULE.same && framePointerRule !== RULE.offset) return;
    rules[at] = base === target.stackPointer ? SMALL_RULE.stackPointer : SMALL_RULE.framePointer;
    rules[at + 1] = sets.cfaOperand(set);
    rules[at + 2] = words[returnAddress + 1];
    rules[at + 3] = framePointerRule === RULE.same ? UNCHANGED : words[framePointer + 1];
  }
}
