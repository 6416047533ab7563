import * as dw from "./constants.ts";
import type { Die } from "./die.ts";

/** Types that only name or qualify others. */
const THIN: ReadonlySet<number> = new Set([dw.DW_TAG_typedef, dw.DW_TAG_const_type, dw.DW_TAG_volatile_type]);
const LONGEST_CHAIN = 64;

/**
 * Whether a function is declared to give memory of no type in particular to whoever says how much: a parameter is a number,
 * another one points to a `void *`, or that is what it returns. `subroutine` may be a copy that was inlined. `byResult`:
 * whether to believe the type of the result, which functions of other kinds have, too.
 */
export function handsOutMemory(subroutine: Die, byResult: boolean): boolean {
  const origin = subroutine.reference(dw.DW_AT_abstract_origin) ?? subroutine;
  let gives = byResult && isUntyped(typeOf(origin));
  let takesNumber = false;
  for (const child of origin.children()) {
    if (child.tag !== dw.DW_TAG_formal_parameter) continue;
    const type = typeOf(child.reference(dw.DW_AT_abstract_origin) ?? child);
    takesNumber ||= type?.tag === dw.DW_TAG_base_type;
    gives ||= type?.tag === dw.DW_TAG_pointer_type && isUntyped(typeOf(type));
  }
  return gives && takesNumber;
}

/** Whether a type is `void *`. */
function isUntyped(type: Die | undefined): boolean {
  return type?.tag === dw.DW_TAG_pointer_type && typeOf(type) === undefined;
}

/** The type of an entry, without what only names or qualifies it. */
function typeOf(die: Die): Die | undefined {
  const found = die.findInherited([dw.DW_AT_type]);
  let type = found?.die.reference(dw.DW_AT_type);
  for (let i = 0; i < LONGEST_CHAIN && type !== undefined && THIN.has(type.tag); i++)
    type = type.reference(dw.DW_AT_type);
  return type;
}
