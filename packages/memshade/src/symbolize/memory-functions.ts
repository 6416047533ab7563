import { Die, dw } from "../dwarf/index.ts";
import { plainType, pointee, typeOf, type Verdict } from "./types.ts";

/**
 * Whether a function returns memory that its caller has a use for, as its type says: a pointer to void or to bytes, made from a size or
 * from bytes. What is known of functions by their code is not of those that are inlined wherever they are called.
 *
 *     void *checked_malloc(size_t size);  char *copy_of(const char *text, size_t length);   // yes
 *     Node *new_node(uint32_t key);       void *shared_table(void);                         // no
 */
export function handsOnMemory(subroutine: Die): boolean {
  if (!isMemory(pointee(typeOf(subroutine)))) return false;
  const origin = subroutine.reference(dw.DW_AT_abstract_origin) ?? subroutine;
  for (const child of origin.children())
    if (child.tag === dw.DW_TAG_formal_parameter && isSizeOrMemory(typeOf(child))) return true;
  return false;
}

function isSizeOrMemory(type: Die | undefined): boolean {
  return plainType(type)?.tag === dw.DW_TAG_base_type || isMemory(pointee(type));
}

function isMemory(target: Verdict): boolean {
  if (!(target instanceof Die)) return target === "none";
  return target.tag === dw.DW_TAG_base_type && target.find(dw.DW_AT_byte_size)?.value === 1;
}
