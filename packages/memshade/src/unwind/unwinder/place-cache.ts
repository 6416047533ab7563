import { CFA_RULE, ROW_FLAG, RULE } from "../cfi/rule-sets.ts";
import type { UnwindTable } from "../tables/unwind-table.ts";
import type { Module, ModuleMap } from "./modules.ts";

/** How to get from a place in the code to its caller, if that is simple. */
export const PLACE_RULE = {
  /** Ask the unwinder. */
  other: 0,
  /** Nobody called this. */
  outermost: 1,
  /** CFA = stack pointer + n, return address below it. */
  stackPointer: 2,
  /** CFA = frame pointer + n, return address below it. */
  framePointer: 3,
} as const;

/** The rule of a place, which is the same wherever its object is mapped. */
class SimpleRule {
  /** `PLACE_RULE` */
  rule: number = PLACE_RULE.other;
  /** Bytes from the base register to the CFA. */
  cfaOffset = 0;
  /** Where the frame pointer was saved, from the CFA; 0 if it was not. */
  framePointerOffset = 0;
}

/** Rules that are kept at most. */
const MOST_RULES = 1 << 18;

/** The simple rules of all objects, for the processes that map them: most recordings have many of one program. */
export class SimpleRules {
  #tables = new Map<UnwindTable, Map<number, SimpleRule>>();
  #count = 0;

  /** The rule at an address of an object (SVMA). */
  of(table: UnwindTable, address: number): SimpleRule {
    let known = this.#tables.get(table);
    let rule = known?.get(address);
    if (rule !== undefined) return rule;
    if (++this.#count > MOST_RULES) {
      this.#tables = new Map();
      this.#count = 1;
      known = undefined;
    }
    if (known === undefined) {
      known = new Map();
      this.#tables.set(table, known);
    }
    rule = simpleRuleAt(table, address);
    known.set(address, rule);
    return rule;
  }
}

/** A place in the code of a process, with what is worth knowing when it comes again. */
export class CodePlace {
  /** Address in the process: in the call, for callers. */
  readonly address: number;
  readonly module: Module | undefined;
  /** `PLACE_RULE` */
  rule: number = PLACE_RULE.other;
  /** Bytes from the base register to the CFA. */
  cfaOffset = 0;
  /** Where the frame pointer was saved, from the CFA; 0 if it was not. */
  framePointerOffset = 0;
  /** Room for whoever shows places: how this one is written. */
  text: string | undefined;
  /** Room for whoever adds profiles up: the frames of this place, outermost first. */
  frames: readonly number[] | undefined;

  constructor(address: number, module: Module | undefined) {
    this.address = address;
    this.module = module;
  }
}

const BLOCK_BYTES = 2 ** 20;
const FIRST_SLOTS = 1 << 8;
/** Marks a free slot. A return address of 0 is looked up at −1, nothing below that. */
const FREE = -2;
/** Places that are kept at most; large programs have some ten thousand in a profile. */
const MOST_PLACES = 1 << 17;

/** The places that were seen, by address: a hash table that grows, and begins anew when there are very many. */
export class PlaceCache {
  readonly #modules: ModuleMap;
  readonly #rules: SimpleRules;
  /** Open addressing. */
  #addresses = new Float64Array(FIRST_SLOTS).fill(FREE);
  #places: (CodePlace | undefined)[] = new Array(FIRST_SLOTS);
  #count = 0;
  /** Blocks of addresses that the places lie in: mappings come and go, and hardly ever where anybody was. */
  readonly #blocks = new Set<number>();

  /** @param rules those of the objects; processes can share them */
  constructor(modules: ModuleMap, rules = new SimpleRules()) {
    this.#modules = modules;
    this.#rules = rules;
  }

  /** To be called when the modules in a range of addresses have changed. */
  forget(start: number, end: number): void {
    for (const block of this.#blocks) {
      if ((block + 1) * BLOCK_BYTES > start && block * BLOCK_BYTES < end) {
        this.#reset();
        return;
      }
    }
  }

  /** The place at an address at which a frame is looked up. */
  at(address: number): CodePlace {
    const addresses = this.#addresses;
    const mask = addresses.length - 1;
    let slot = hashOf(address) & mask;
    for (let found = addresses[slot]; found !== FREE; found = addresses[slot]) {
      if (found === address) return this.#places[slot]!;
      slot = (slot + 1) & mask;
    }
    return this.#add(address);
  }

  #add(address: number): CodePlace {
    const module = this.#modules.find(address);
    const place = new CodePlace(address, module);
    const table = module?.table;
    if (module !== undefined && table !== undefined) {
      const { rule, cfaOffset, framePointerOffset } = this.#rules.of(table, address - module.bias);
      place.rule = rule;
      place.cfaOffset = cfaOffset;
      place.framePointerOffset = framePointerOffset;
    }
    if (this.#count === MOST_PLACES) this.#reset();
    if (2 * this.#count >= this.#addresses.length) this.#grow();
    this.#insert(place);
    this.#blocks.add(Math.floor(address / BLOCK_BYTES));
    return place;
  }

  #insert(place: CodePlace): void {
    const mask = this.#addresses.length - 1;
    let slot = hashOf(place.address) & mask;
    while (this.#addresses[slot] !== FREE) slot = (slot + 1) & mask;
    this.#addresses[slot] = place.address;
    this.#places[slot] = place;
    this.#count++;
  }

  #grow(): void {
    const places = this.#places;
    this.#allocate(2 * places.length);
    for (const place of places) if (place !== undefined) this.#insert(place);
  }

  #reset(): void {
    this.#allocate(FIRST_SLOTS);
    this.#blocks.clear();
  }

  #allocate(slots: number): void {
    this.#addresses = new Float64Array(slots).fill(FREE);
    this.#places = new Array(slots);
    this.#count = 0;
  }
}

function hashOf(address: number): number {
  const low = (address % 2 ** 32) | 0;
  return Math.imul(low ^ (low >>> 15), 0x9e3779b1) >>> 8;
}

/** The rule at an address on x86-64 if it is one of the simple ones, which nearly all are. */
function simpleRuleAt(table: UnwindTable, address: number): SimpleRule {
  const place = new SimpleRule();
  const { rules, target } = table;
  if (target.architecture !== "x86_64") return place;
  const set = table.find(address);
  if (set === 0 || (rules.flags(set) & ROW_FLAG.signalFrame) !== 0) return place;
  // Trampolines of signals may begin one byte behind the call that leads to them.
  if ((rules.flags(table.find(address + 1)) & ROW_FLAG.signalFrame) !== 0) return place;
  const { words } = rules;
  let returnAddressIsUsual = false;
  let isOutermost = false;
  for (let at = rules.starts[set] + 3; at < rules.starts[set + 1]; at += 2) {
    const register = words[at] >>> 8;
    const rule = words[at] & 0xff;
    const operand = words[at + 1];
    if (register === rules.returnAddress(set)) {
      isOutermost = rule === RULE.undefined;
      returnAddressIsUsual = rule === RULE.offset && operand === -8;
    } else if (register === target.framePointer) {
      if (rule === RULE.offset && operand !== 0) place.framePointerOffset = operand;
      else if (rule !== RULE.same) return place;
    } else if (register === target.stackPointer) {
      return place;
    }
  }
  if (rules.cfaRule(set) !== CFA_RULE.register) return place;
  const base = rules.cfaRegister(set);
  if (base !== target.stackPointer && base !== target.framePointer) return place;
  place.cfaOffset = rules.cfaOperand(set);
  if (isOutermost) place.rule = PLACE_RULE.outermost;
  else if (returnAddressIsUsual) {
    place.rule = base === target.stackPointer ? PLACE_RULE.stackPointer : PLACE_RULE.framePointer;
  }
  return place;
}
