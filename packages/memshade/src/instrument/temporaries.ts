import type { ValType } from "../wasm/index.ts";

// Locals that instrumentation adds to a function. How many there are is known only after the walk, so insertions name
// them symbolically; the writer resolves the names. Layout behind the function's own locals:
//
//   frame, scratch, loop temporaries …            i32
//   address temporaries, one per operand height   i32, or i64 for a 64-bit memory
//   spills, two per type                          the types that need them, in the order of their bytes

const ADDRESS = 1 << 24;
const LOOP = 1 << 25;

/** The temporary for an address at an operand height: values alive at the same time have different heights. */
export function addressTemporary(height: number): number {
  return ADDRESS + height;
}

export function loopTemporary(number: number): number {
  return LOOP + number;
}

/** Temporaries one function needs. */
export interface Temporaries {
  addresses: number;
  loops: number;
  frame: boolean;
  scratch: boolean;
  /** Types of operands that have to be put aside for a moment. */
  spills: Set<ValType>;
}

export function noTemporaries(): Temporaries {
  return { addresses: 0, loops: 0, frame: false, scratch: false, spills: new Set() };
}

/** Types of the spills in the order of their locals: two of each. */
export function spillTypes(temporaries: Temporaries): ValType[] {
  return [...temporaries.spills].sort((a, b) => a - b);
}

/** The `which`th (0 or 1) spill of a type. */
export function spillLocal(
  type: ValType,
  which: number,
  ownLocals: number,
  temporaries: Temporaries,
): number {
  const first = ownLocals + 2 + temporaries.loops + temporaries.addresses;
  return first + spillTypes(temporaries).indexOf(type) * 2 + which;
}

/** Index of a local, symbolic or not, in the rewritten function. */
export function resolveLocal(local: number, ownLocals: number, temporaries: Temporaries): number {
  if (local < ADDRESS) return local;
  const fixed = ownLocals + 2;
  return local < LOOP ? fixed + temporaries.loops + (local - ADDRESS) : fixed + (local - LOOP);
}

export function frameLocal(ownLocals: number): number {
  return ownLocals;
}

export function scratchLocal(ownLocals: number): number {
  return ownLocals + 1;
}
