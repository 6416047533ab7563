import {
  type CompositeType,
  F32,
  F64,
  I32,
  I64,
  PACKED_I8,
  PACKED_I16,
  type StorageType,
  V128,
} from "../../../code/wasm/index.ts";
import { placeFields } from "../../../profile/model/objects.ts";

/** Size of a reference, bytes: 4 where the engine compresses pointers, as Chromium does, 8 where it does not, as Node. */
export type ReferenceBytes = 4 | 8;

const NUMERIC_BYTES: Readonly<Record<number, number>> = {
  [I32]: 4,
  [I64]: 8,
  [F32]: 4,
  [F64]: 8,
  [V128]: 16,
  [PACKED_I8]: 1,
  [PACKED_I16]: 2,
};

/** How large objects are in V8, as far as their types tell. Engines give no such number: this is a model. */
export class SizeModel {
  readonly references: ReferenceBytes;
  /** Before the fields of a struct: its map and its hash. */
  readonly structHeader: number;
  /** Before the elements of an array: the same, and its length. */
  readonly arrayHeader: number;

  constructor(references: ReferenceBytes) {
    this.references = references;
    this.structHeader = 2 * references;
    this.arrayHeader = 3 * references;
  }

  /** Size of a field or element, bytes. */
  fieldBytes(type: StorageType): number {
    return NUMERIC_BYTES[type] ?? this.references;
  }

  /** Size of a struct, and of an array without elements, bytes. The padding behind elements is left out. */
  fixedBytes(type: CompositeType): number {
    if (type.kind === "array") return this.arrayHeader;
    if (type.kind !== "struct") return 0;
    const sizes = type.fields.map((field) => this.fieldBytes(field.type));
    return this.structHeader + placeFields(sizes, this.references).end;
  }

  /** Size of each element of an array, 0 for structs. */
  elementBytes(type: CompositeType): number {
    return type.kind === "array" ? this.fieldBytes(type.field.type) : 0;
  }
}
