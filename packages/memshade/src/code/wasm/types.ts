export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Value type in one number, so that types compare with `===`. Numeric and vector types and nullable references to
 * abstract heap types are their byte in the binary format. All other reference types are numbers ≥ 0x100, made by
 * `referenceType`.
 */
export type ValType = number;

/** Heap type: a type index (≥ 0) or an abstract heap type as its signed 7-bit number (< 0). */
export type HeapType = number;

export const I32: ValType = 0x7f;
export const I64: ValType = 0x7e;
export const F32: ValType = 0x7d;
export const F64: ValType = 0x7c;
export const V128: ValType = 0x7b;
export const FUNCREF: ValType = 0x70;
export const EXTERNREF: ValType = 0x6f;

/** Storage types of struct and array fields that are not value types. */
export const PACKED_I8 = 0x78;
export const PACKED_I16 = 0x77;

/** Abstract heap types by the byte that encodes them; as `HeapType` they are this minus 0x80. */
export const ABSTRACT_HEAP_TYPES: Readonly<Record<number, string>> = {
  116: "noexn",
  115: "nofunc",
  114: "noextern",
  113: "none",
  112: "func",
  111: "extern",
  110: "any",
  109: "eq",
  108: "i31",
  107: "struct",
  106: "array",
  105: "exn",
};

const REFERENCE_BASE = 0x100;
const ABSTRACT_OFFSET = 0x80;

export function referenceType(heapType: HeapType, nullable: boolean): ValType {
  if (heapType < 0 && nullable) return heapType + ABSTRACT_OFFSET;
  return REFERENCE_BASE + (heapType + ABSTRACT_OFFSET) * 2 + (nullable ? 1 : 0);
}

export function isReference(type: ValType): boolean {
  return type >= REFERENCE_BASE || ABSTRACT_HEAP_TYPES[type] !== undefined;
}

/** True for reference types that admit null. */
export function isNullable(type: ValType): boolean {
  return type >= REFERENCE_BASE ? (type - REFERENCE_BASE) % 2 === 1 : isReference(type);
}

export function heapTypeOf(type: ValType): HeapType {
  if (type < REFERENCE_BASE) return type - ABSTRACT_OFFSET;
  return Math.floor((type - REFERENCE_BASE) / 2) - ABSTRACT_OFFSET;
}

/** Value type, or for fields also a packed one: the same numbers plus `PACKED_I8` and `PACKED_I16`. */
export type StorageType = number;

export interface FieldType {
  type: StorageType;
  mutable: boolean;
}

export interface FuncType {
  kind: "func";
  params: ValType[];
  results: ValType[];
}

export interface StructType {
  kind: "struct";
  fields: FieldType[];
}

export interface ArrayType {
  kind: "array";
  field: FieldType;
}

export type CompositeType = FuncType | StructType | ArrayType;

/** Properties of a type definition beside its structure. A plain definition is final and has no supertypes. */
export interface SubtypeInfo {
  final: boolean;
  supertypes: number[];
}

/** Recursion group: `count` types from index `first`. `explicit` if it was written with its own marker. */
export interface TypeGroup {
  first: number;
  count: number;
  explicit: boolean;
}

/**
 * Bounds of a table (entries) or memory (pages). A maximum or minimum above 2^53 − 1 is `Infinity`, which is
 * written as 2^64 − 1.
 */
export interface Limits {
  minimum: number;
  maximum: number | undefined;
  shared: boolean;
  /** true if indices (tables) or addresses (memories) are i64 */
  index64: boolean;
}

export interface MemoryType extends Limits {
  /** log2 of the page size in bytes; 16 unless the module uses custom page sizes */
  pageSizeLog2: number;
}

export interface TableType extends Limits {
  element: ValType;
}

export interface GlobalType {
  type: ValType;
  mutable: boolean;
}

export type ExternalKind = "function" | "table" | "memory" | "global" | "tag";

/** External kinds in the order of their byte in import and export entries. */
export const EXTERNAL_KINDS: readonly ExternalKind[] = ["function", "table", "memory", "global", "tag"];

export type ImportDescription =
  | { kind: "function"; typeIndex: number }
  | { kind: "table"; table: TableType }
  | { kind: "memory"; memory: MemoryType }
  | { kind: "global"; global: GlobalType }
  | { kind: "tag"; typeIndex: number };

export type Import = { module: string; field: string } & ImportDescription;

/** Table defined by the module; `initial` is the constant expression of its entries, if it has one. */
export interface TableDefinition extends TableType {
  initial: ByteRange | undefined;
}

/** Global defined by the module. `initial` is its constant expression with the final `end`. */
export interface GlobalDef extends GlobalType {
  initial: ByteRange;
}

export interface TagType {
  typeIndex: number;
}

export interface ExportEntry {
  name: string;
  kind: ExternalKind;
  index: number;
}

export type SegmentMode = "active" | "passive" | "declarative";

export type ElementItems =
  | { kind: "functions"; indices: number[] }
  | { kind: "expressions"; expressions: ByteRange[] };

export interface ElementSegment {
  mode: SegmentMode;
  flags: number;
  table: number;
  /** constant expression of the first slot, for active segments */
  offset: ByteRange | undefined;
  type: ValType;
  items: ElementItems;
}

export interface DataSegment {
  mode: "active" | "passive";
  flags: number;
  memory: number;
  /** constant expression of the address, for active segments */
  offset: ByteRange | undefined;
  start: number;
  end: number;
}

export interface SectionView {
  id: number;
  /** only of custom sections */
  name?: string;
  start: number;
  /** offset of the first byte after id and size; in custom sections their name begins there */
  payloadStart: number;
  payloadEnd: number;
  /** offset of the first byte after the name, only in custom sections */
  contentStart?: number;
}

export interface FunctionBody {
  /** offset of the body's size */
  sizeStart: number;
  /** offset just after the size: the first byte of the vector of locals */
  start: number;
  codeStart: number;
  /** offset after the final `end` */
  end: number;
}

export interface LocalGroup {
  count: number;
  type: ValType;
}

/** Decoded module. It keeps the input and refers to it by offset; only names are copied. */
export interface WasmModule {
  bytes: Uint8Array;
  sections: SectionView[];
  /** type index space, recursion groups expanded */
  types: CompositeType[];
  /** parallel to `types` */
  subtypes: SubtypeInfo[];
  typeGroups: TypeGroup[];
  imports: Import[];
  /** type index per defined function */
  functions: number[];
  tables: TableDefinition[];
  memories: MemoryType[];
  tags: TagType[];
  globals: GlobalDef[];
  exports: ExportEntry[];
  start: number | undefined;
  elements: ElementSegment[];
  dataCount: number | undefined;
  bodies: FunctionBody[];
  data: DataSegment[];
  customs: SectionView[];
  importedFunctionCount: number;
  importedTableCount: number;
  importedMemoryCount: number;
  importedGlobalCount: number;
  importedTagCount: number;
  /** DWARF address of an instruction = byte offset − this. 0 in a module without code section. */
  codePayloadStart: number;
}

const NUMERIC_NAMES: Readonly<Record<number, string>> = {
  [I32]: "i32",
  [I64]: "i64",
  [F32]: "f32",
  [F64]: "f64",
  [V128]: "v128",
  [PACKED_I8]: "i8",
  [PACKED_I16]: "i16",
};

const SHORTHAND_NAMES: Readonly<Record<string, string>> = {
  none: "nullref",
  noextern: "nullexternref",
  nofunc: "nullfuncref",
  noexn: "nullexnref",
};

export function formatHeapType(heapType: HeapType): string {
  return heapType >= 0
    ? String(heapType)
    : (ABSTRACT_HEAP_TYPES[heapType + ABSTRACT_OFFSET] ?? `?${heapType}`);
}

export function formatType(type: StorageType): string {
  if (NUMERIC_NAMES[type] !== undefined) return NUMERIC_NAMES[type];
  const heapType = formatHeapType(heapTypeOf(type));
  if (type < REFERENCE_BASE) return SHORTHAND_NAMES[heapType] ?? `${heapType}ref`;
  return isNullable(type) ? `(ref null ${heapType})` : `(ref ${heapType})`;
}
