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

/**
 * Size of a reference, bytes: 4 if the engine compresses pointers, as Chromium does; 8 if not, as in Node.
 */
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

/** Sizes of objects in V8, by their types. Engines do not report sizes, so this is a model. */
export class SizeModel {
  readonly references: ReferenceBytes;
  /** Bytes before the fields of a struct: its map and its hash. */
  readonly structHeader: number;
  /** Bytes before the elements of an array: map, hash and length. */
  readonly arrayHeader: number;

  constructor(references: ReferenceBytes) {
    this.references = references;
    this.structHeader = 2 * references;
    this.arrayHeader = 3 * references;
  }

  fieldBytes(type: StorageType): number {
    return NUMERIC_BYTES[type] ?? this.references;
  }

  /**
   * Returns the size of a struct, or of an array without elements, in bytes. The padding after elements is
   * not included.
   */
  fixedBytes(type: CompositeType): number {
    if (type.kind === "array") return this.arrayHeader;
    if (type.kind !== "struct") return 0;
    const sizes = type.fields.map((field) => this.fieldBytes(field.type));
    return this.structHeader + placeFields(sizes, this.references).end;
  }

  /** Returns the size of each element of an array in bytes, 0 for structs. */
  elementBytes(type: CompositeType): number {
    return type.kind === "array" ? this.fieldBytes(type.field.type) : 0;
  }
}
