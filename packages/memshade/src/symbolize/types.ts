import { type Die, dw } from "../dwarf/index.ts";

/** A type, or that there certainly is none, or nothing known. */
export type Verdict = Die | "none" | undefined;

/** How many types, or blocks of code, are gone through that lie in each other. */
export const DEEPEST = 16;

/** The type behind names and qualifiers. */
export function plainType(type: Die | undefined): Die | undefined {
  let die = type;
  for (let depth = 0; die !== undefined && depth < DEEPEST; depth++) {
    switch (die.tag) {
      case dw.DW_TAG_typedef:
      case dw.DW_TAG_const_type:
      case dw.DW_TAG_volatile_type:
      case dw.DW_TAG_restrict_type:
      case dw.DW_TAG_atomic_type:
        die = die.reference(dw.DW_AT_type);
        continue;
      default:
        return die;
    }
  }
  return undefined;
}

/** What a pointer points to: a type, "none" for void; undefined for what is no pointer. */
export function pointee(type: Die | undefined): Verdict {
  const pointer = plainType(type);
  if (pointer?.tag !== dw.DW_TAG_pointer_type) return undefined;
  return plainType(pointer.reference(dw.DW_AT_type)) ?? "none";
}

export function typeOf(die: Die): Die | undefined {
  return die.findInherited([dw.DW_AT_type])?.die.reference(dw.DW_AT_type);
}
