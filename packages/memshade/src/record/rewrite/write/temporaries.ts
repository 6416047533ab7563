import type { ValType } from "../../../code/wasm/index.ts";

// Locals that instrumentation adds to a function. Their number is known only after the walk, so insertions use symbols,
// which the writer resolves. Layout after the function's own locals:
//
//   two scratch locals, loop temporaries …        i32
//   address temporaries, one per operand height   i32, or i64 for a 64-bit memory
//   spills, two per type                          the types that need them, in the order of their bytes
//   extra locals, in the order of their making    the types that tools requested

const ADDRESS = 1 << 24;
const SCRATCH = 1 << 25;
const SCRATCH_LOCALS = 2;
const LOOP = SCRATCH + SCRATCH_LOCALS;
const EXTRA = 1 << 26;
const SPILL = 1 << 27;

/**
 * Scratch locals, i32, of functions with `Temporaries.scratch`. The first keeps its value across snippets; the second
 * only within one.
 */
export const LASTING_SCRATCH = SCRATCH;
export const SHORT_SCRATCH = SCRATCH + 1;

/** Returns the temporary for an address at an operand height. Values alive at the same time have different heights. */
export function addressTemporary(height: number): number {
  return ADDRESS + height;
}

export function loopTemporary(number: number): number {
  return LOOP + number;
}

export interface Temporaries {
  addresses: number;
  loops: number;
  scratch: boolean;
  /** Types of operands that are saved temporarily. */
  spills: Set<ValType>;
  /** Types of locals requested with `extraLocal`. */
  extra: ValType[] | undefined;
  /** True if the function gets another parameter, an i32. It replaces the first local, also an i32, if there is one. */
  moreParameter: boolean;
}

export function noTemporaries(): Temporaries {
  return {
    addresses: 0,
    loops: 0,
    scratch: false,
    spills: new Set(),
    extra: undefined,
    moreParameter: false,
  };
}

/** Adds a local of a type for a tool. It is zero when the function begins. */
export function extraLocal(temporaries: Temporaries, type: ValType): number {
  temporaries.extra ??= [];
  return EXTRA + temporaries.extra.push(type) - 1;
}

export function extraLocals(temporaries: Temporaries): readonly ValType[] {
  return temporaries.extra ?? NO_TYPES;
}

const NO_TYPES: readonly ValType[] = [];

export function temporaryCount(temporaries: Temporaries): number {
  const { addresses, loops, scratch, spills } = temporaries;
  const behind = addresses + 2 * spills.size + extraLocals(temporaries).length;
  return scratch || loops + behind > 0 ? SCRATCH_LOCALS + loops + behind : 0;
}

/** Returns the types of the spills in the order of their locals. Each type has two. */
export function spillTypes(temporaries: Temporaries): ValType[] {
  return [...temporaries.spills].sort((a, b) => a - b);
}

/** Returns the first or second spill (`which`: 0 or 1) of a type in `spills`. */
export function spillLocal(type: ValType, which: number): number {
  return SPILL + type * 2 + which;
}

/** Returns the index of a local, symbolic or not, in the rewritten function. */
export function resolveLocal(local: number, ownLocals: number, temporaries: Temporaries): number {
  if (local < ADDRESS) return local;
  const { loops, addresses, spills } = temporaries;
  const fixed = ownLocals + SCRATCH_LOCALS;
  if (local < SCRATCH) return fixed + loops + (local - ADDRESS);
  if (local < EXTRA) return ownLocals + (local - SCRATCH);
  const behindAddresses = fixed + loops + addresses;
  if (local < SPILL) return behindAddresses + spills.size * 2 + (local - EXTRA);
  const spill = local - SPILL;
  return behindAddresses + spillTypes(temporaries).indexOf(spill >>> 1) * 2 + (spill & 1);
}
