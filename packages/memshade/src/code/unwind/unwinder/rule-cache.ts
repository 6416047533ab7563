import { isSignalTrampoline, mayBeTrampoline } from "./fallbacks.ts";
import type { Module, ModuleMap } from "./modules.ts";
import { SMALL_RULE, smallRuleAt } from "./small-rule.ts";

const CACHE_BITS = 12;

/**
 * Small rules of the addresses that were looked up last. Profiles come back to the same addresses over and over, so that
 * most frames need neither a search nor the rules themselves.
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
    if (this.#addresses[slot] !== address) this.#fill(slot, address, isCaller);
    return slot << 2;
  }

  #fill(slot: number, address: number, isCaller: boolean): void {
    const { rules } = this;
    this.#addresses[slot] = address;
    const at = slot << 2;
    rules[at] = SMALL_RULE.other;
    const module = this.#modules.find(address);
    const table = module?.table;
    if (module === undefined || table === undefined) return;
    const rule = smallRuleAt(table, address - module.bias, isCaller);
    if (rule.kind === SMALL_RULE.other || rule.kind === SMALL_RULE.uncovered) return;
    if (mayBeTrampoline(address + 1, isCaller) && isTrampoline(module, address + 1)) return;
    rules[at] = rule.kind;
    if (rule.kind === SMALL_RULE.outermost) return;
    rules[at + 1] = rule.cfaOffset;
    rules[at + 2] = rule.returnOffset;
    rules[at + 3] = rule.framePointerOffset;
  }
}

function isTrampoline({ table, readCode }: Module, address: number): boolean {
  if (table === undefined || readCode === undefined) return false;
  return isSignalTrampoline(table.target.architecture, address, readCode);
}
