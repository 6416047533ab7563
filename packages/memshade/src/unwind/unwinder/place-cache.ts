import { CFA_RULE, ROW_FLAG, RULE } from "../cfi/rule-sets.ts";
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

const SLOTS = 1 << 14;

/** The places that were seen last, by address. */
export class PlaceCache {
  readonly #modules: ModuleMap;
  readonly #addresses = new Float64Array(SLOTS).fill(-1);
  readonly #places: CodePlace[] = new Array(SLOTS);

  constructor(modules: ModuleMap) {
    this.#modules = modules;
  }

  /** To be called when the modules have changed. */
  clear(): void {
    this.#addresses.fill(-1);
  }

  /** The place at an address at which a frame is looked up. */
  at(address: number): CodePlace {
    const low = (address % 2 ** 32) | 0;
    const slot = (low ^ (low >>> 13)) & (SLOTS - 1);
    if (this.#addresses[slot] === address) return this.#places[slot];
    const place = new CodePlace(address, this.#modules.find(address));
    readRule(place);
    this.#addresses[slot] = address;
    this.#places[slot] = place;
    return place;
  }
}

/** Sets the rule of a place on x86-64 if it is one of the simple ones, which nearly all are. */
function readRule(place: CodePlace): void {
  const { module, address } = place;
  const table = module?.table;
  if (module === undefined || table === undefined || table.target.architecture !== "x86_64") return;
  const { rules, target } = table;
  const set = table.find(address - module.bias);
  if (set === 0 || (rules.flags(set) & ROW_FLAG.signalFrame) !== 0) return;
  const next = table.find(address + 1 - module.bias);
  // Trampolines of signals may begin one byte behind the call that leads to them.
  if ((rules.flags(next) & ROW_FLAG.signalFrame) !== 0) return;
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
      else if (rule !== RULE.same) return;
    } else if (register === target.stackPointer) {
      return;
    }
  }
  if (rules.cfaRule(set) !== CFA_RULE.register) return;
  const base = rules.cfaRegister(set);
  if (base !== target.stackPointer && base !== target.framePointer) return;
  place.cfaOffset = rules.cfaOperand(set);
  if (isOutermost) place.rule = PLACE_RULE.outermost;
  else if (returnAddressIsUsual) {
    place.rule = base === target.stackPointer ? PLACE_RULE.stackPointer : PLACE_RULE.framePointer;
  }
}
