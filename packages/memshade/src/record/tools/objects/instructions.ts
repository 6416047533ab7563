import type { CompositeType } from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";

/** Whether an instruction makes an object. */
export function allocates(op: number): boolean {
  return (
    (op >= Op.STRUCT_NEW && op <= Op.STRUCT_NEW_DEFAULT) || (op >= Op.ARRAY_NEW && op <= Op.ARRAY_NEW_ELEM)
  );
}

/** Whether the number of elements that an instruction works on lies on top of the stack. */
export function hasLength(op: number): boolean {
  return (
    op === Op.ARRAY_NEW ||
    op === Op.ARRAY_NEW_DEFAULT ||
    op === Op.ARRAY_NEW_DATA ||
    op === Op.ARRAY_NEW_ELEM ||
    (op >= Op.ARRAY_FILL && op <= Op.ARRAY_INIT_ELEM)
  );
}

/** What an instruction does to fields or elements, besides making objects. */
export function accesses(op: number): { reads: boolean; writes: boolean } {
  const reads =
    (op >= Op.STRUCT_GET && op <= Op.STRUCT_GET_U) || (op >= Op.ARRAY_GET && op <= Op.ARRAY_GET_U);
  const writes =
    op === Op.STRUCT_SET || op === Op.ARRAY_SET || (op >= Op.ARRAY_FILL && op <= Op.ARRAY_INIT_ELEM);
  return { reads: reads || op === Op.ARRAY_COPY, writes };
}

/** Elements of what an instruction makes where that is a part of it, 0 otherwise. */
export function fixedLength(op: number, second: number): number {
  return op === Op.ARRAY_NEW_FIXED ? second : 0;
}

/** Whether a module makes objects: it has types of them. */
export function hasObjectTypes({ types }: { readonly types: readonly CompositeType[] }): boolean {
  return types.some(({ kind }) => kind !== "func");
}
