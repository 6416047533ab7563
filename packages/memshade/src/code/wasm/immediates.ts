/**
 * Immediates of an opcode in the code section, one number per shape. "index" is an unsigned LEB128 integer.
 *
 * The shapes are numbers, since decoders look them up per instruction in `IMMEDIATE_KIND`.
 */
export const ImmediateKind = {
  None: 0,
  /** signed 33-bit: empty (-64), a value type, or a type index */
  BlockType: 1,
  /** label depth */
  Label: 2,
  /** vector of label depths, then the default one */
  LabelTable: 3,
  Func: 4,
  Type: 5,
  /** type index, table index */
  CallIndirect: 6,
  Local: 7,
  Global: 8,
  Table: 9,
  /** destination table index, source table index */
  TwoTables: 10,
  /** element segment index, table index */
  ElemTable: 11,
  Elem: 12,
  /** alignment exponent (bit 6: a memory index follows), offset (up to 64 bits) */
  Memarg: 13,
  /** memarg, then one lane byte */
  MemargLane: 14,
  Memory: 15,
  /** destination memory index, source memory index */
  TwoMemories: 16,
  /** data segment index, memory index */
  DataMemory: 17,
  Data: 18,
  /** one lane byte */
  Lane: 19,
  /** sixteen lane bytes */
  Shuffle: 20,
  /** signed 32-bit LEB128 */
  I32: 21,
  /** signed 64-bit LEB128 */
  I64: 22,
  /** four bytes */
  F32: 23,
  /** eight bytes */
  F64: 24,
  /** sixteen bytes */
  V128: 25,
  /** vector of value types */
  ValTypes: 26,
  /** heap type: signed 33-bit, a type index or a negative abstract type */
  RefHeapType: 27,
  Tag: 28,
  /** block type, vector of catch clauses */
  TryTable: 29,
  /** type index, field index */
  TypeField: 30,
  /** type index, count */
  TypeN: 31,
  /** type index, data segment index */
  TypeData: 32,
  /** type index, element segment index */
  TypeElem: 33,
  /** destination type index, source type index */
  TwoTypes: 34,
  /** flags byte (bit 0: source nullable, bit 1: target nullable), label depth, two heap types */
  BrOnCast: 35,
  /** label depth, counted from outside the `try` that it ends */
  Delegate: 36,
  /** label depth of a catching block */
  Rethrow: 37,
  /** one byte that must be zero */
  Zero: 38,
} as const;

export type ImmediateKindName = keyof typeof ImmediateKind;
export type ImmediateKind = (typeof ImmediateKind)[ImmediateKindName];
