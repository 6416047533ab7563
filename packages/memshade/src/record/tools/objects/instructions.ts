import type { CompositeType } from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";

export function allocates(op: number): boolean {
  return (
    (op >= Op.STRUCT_NEW && op <= Op.STRUCT_NEW_DEFAULT) || (op >= Op.ARRAY_NEW && op <= Op.ARRAY_NEW_ELEM)
  );
}

/** True if the number of elements of an instruction is on top of the stack. */
export function hasLength(op: number): boolean {
  return (
    op === Op.ARRAY_NEW ||
    op === Op.ARRAY_NEW_DEFAULT ||
    op === Op.ARRAY_NEW_DATA ||
    op === Op.ARRAY_NEW_ELEM ||
    (op >= Op.ARRAY_FILL && op <= Op.ARRAY_INIT_ELEM)
  );
}

/** Returns the accesses of an instruction to fields or elements, besides those of making objects. */
export function accesses(op: number): { reads: boolean; writes: boolean } {
  const reads =
    (op >= Op.STRUCT_GET && op <= Op.STRUCT_GET_U) || (op >= Op.ARRAY_GET && op <= Op.ARRAY_GET_U);
  const writes =
    op === Op.STRUCT_SET || op === Op.ARRAY_SET || (op >= Op.ARRAY_FILL && op <= Op.ARRAY_INIT_ELEM);
  return { reads: reads || op === Op.ARRAY_COPY, writes };
}

/** Returns the number of elements of a new object if the instruction contains it, else 0. */
export function fixedLength(op: number, second: number): number {
  return op === Op.ARRAY_NEW_FIXED ? second : 0;
}

export function hasObjectTypes({ types }: { readonly types: readonly CompositeType[] }): boolean {
  return types.some(({ kind }) => kind !== "func");
}
