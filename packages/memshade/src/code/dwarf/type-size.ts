import * as dw from "./constants.ts";
import type { Die } from "./die.ts";

const LONGEST_CHAIN = 64;

/** Bytes of a type, as far as its entry and the types it refers to have a size. */
export function typeSize(type: Die | undefined, remaining: number = LONGEST_CHAIN): number | undefined {
  if (type === undefined || remaining === 0) return undefined;
  const given = type.find(dw.DW_AT_byte_size);
  if (given !== undefined && given.length === 0) return given.value;
  const { addressSize } = type.unit.header;
  const base = () => type.reference(dw.DW_AT_type);
  switch (type.tag) {
    case dw.DW_TAG_pointer_type:
    case dw.DW_TAG_reference_type:
    case dw.DW_TAG_rvalue_reference_type:
      return addressSize;
    case dw.DW_TAG_ptr_to_member_type:
      return base()?.tag === dw.DW_TAG_subroutine_type ? addressSize * 2 : addressSize;
    case dw.DW_TAG_array_type:
      return arraySize(type, typeSize(base(), remaining - 1));
    default:
      return typeSize(base(), remaining - 1);
  }
}

function arraySize(array: Die, elementSize: number | undefined): number | undefined {
  if (elementSize === undefined) return undefined;
  let size = elementSize;
  for (const child of array.children()) {
    if (child.tag !== dw.DW_TAG_subrange_type) continue;
    const count = child.find(dw.DW_AT_count);
    const last = child.find(dw.DW_AT_upper_bound);
    if (count !== undefined && isConstant(count.form)) size *= count.value;
    if (last !== undefined && isConstant(last.form))
      size *= last.value - (child.find(dw.DW_AT_lower_bound)?.value ?? 0) + 1;
  }
  return size;
}

/** Bounds may also be variables. */
function isConstant(form: number): boolean {
  switch (form) {
    case dw.DW_FORM_data1:
    case dw.DW_FORM_data2:
    case dw.DW_FORM_data4:
    case dw.DW_FORM_data8:
    case dw.DW_FORM_sdata:
    case dw.DW_FORM_udata:
    case dw.DW_FORM_implicit_const:
      return true;
    default:
      return false;
  }
}
