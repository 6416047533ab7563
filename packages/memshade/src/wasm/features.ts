import { ImmediateKind } from "./immediates.ts";
import { importsOf } from "./lookups.ts";
import { type FeatureName, IMMEDIATE_KIND, OPCODE_FEATURE, OPCODE_ID_LIMIT, opcodeId } from "./opcodes.ts";
import { opcodeIdAt, skipImmediates, skipOpcode } from "./skip.ts";
import {
  type ByteRange,
  FUNCREF,
  type FuncType,
  heapTypeOf,
  isNullable,
  isReference,
  type StorageType,
  V128,
  type WasmModule,
} from "./types.ts";

/** Extensions that a module can use: those that bring instructions, and those that change the structure. */
export type Feature =
  | FeatureName
  | "multi-value"
  | "mutable-globals"
  | "memory64"
  | "multi-memory"
  | "extended-const"
  | "custom-page-sizes";

const FUNC = -16;
const EXTERN = -17;
const EXN = -23;
const NOEXN = -12;

const CONSTANT_IN_MVP: ReadonlySet<number> = new Set(
  (["i32.const", "i64.const", "f32.const", "f64.const", "global.get", "end"] as const).map(opcodeId),
);
const EXTENDED_CONSTANTS: ReadonlySet<number> = new Set(
  (["i32.add", "i32.sub", "i32.mul", "i64.add", "i64.sub", "i64.mul"] as const).map(opcodeId),
);

/**
 * The extensions of the first edition of WebAssembly that the module uses; empty for a plain one. Walks all
 * bodies. Throws `FormatError` for code that cannot be decoded.
 */
export function moduleFeatures(module: WasmModule): Set<Feature> {
  const features = new Set<Feature>();
  addCodeFeatures(module, features);
  addConstantFeatures(module, features);
  addTypeFeatures(module, features);
  addStructureFeatures(module, features);
  features.delete("mvp");
  return features;
}

function addCodeFeatures(module: WasmModule, features: Set<Feature>): void {
  const { bytes } = module;
  const seen = new Uint8Array(OPCODE_ID_LIMIT);
  for (const { codeStart, end } of module.bodies) {
    for (let position = codeStart; position < end; ) {
      const id = opcodeIdAt(bytes, position);
      const kind = IMMEDIATE_KIND[id];
      const immediates = skipOpcode(bytes, position);
      if (kind === ImmediateKind.BlockType || kind === ImmediateKind.TryTable) {
        const byte = bytes[immediates];
        if (byte >= 0x80 || byte < 0x40) features.add("multi-value");
      }
      seen[id] = 1;
      position = skipImmediates(bytes, immediates, kind);
    }
  }
  for (let id = 0; id < OPCODE_ID_LIMIT; id++) {
    const feature = OPCODE_FEATURE[id];
    if (seen[id] === 1 && feature !== undefined) features.add(feature);
  }
}

function addConstantFeatures(module: WasmModule, features: Set<Feature>): void {
  for (const range of constantExpressions(module)) {
    for (let position = range.start; position < range.end; ) {
      const id = opcodeIdAt(module.bytes, position);
      const feature = OPCODE_FEATURE[id];
      if (EXTENDED_CONSTANTS.has(id)) features.add("extended-const");
      else if (feature !== undefined && !CONSTANT_IN_MVP.has(id)) features.add(feature);
      position = skipImmediates(module.bytes, skipOpcode(module.bytes, position), IMMEDIATE_KIND[id]);
    }
  }
}

function* constantExpressions(module: WasmModule): Generator<ByteRange> {
  for (const { initial } of module.globals) yield initial;
  for (const { initial } of module.tables) if (initial !== undefined) yield initial;
  for (const { offset } of module.data) if (offset !== undefined) yield offset;
  for (const { offset, items } of module.elements) {
    if (offset !== undefined) yield offset;
    if (items.kind === "expressions") yield* items.expressions;
  }
}

function addTypeFeatures(module: WasmModule, features: Set<Feature>): void {
  for (const type of module.types) {
    if (type.kind === "struct") for (const { type: field } of type.fields) addTypeFeature(field, features);
    else if (type.kind === "array") addTypeFeature(type.field.type, features);
    else addFuncTypeFeatures(type, features);
    if (type.kind !== "func") features.add("gc");
  }
  if (module.typeGroups.some(({ explicit }) => explicit)) features.add("gc");
  if (module.subtypes.some(({ final }) => !final)) features.add("gc");
}

function addFuncTypeFeatures(type: FuncType, features: Set<Feature>): void {
  if (type.results.length > 1) features.add("multi-value");
  for (const value of type.params) addTypeFeature(value, features);
  for (const value of type.results) addTypeFeature(value, features);
}

function addTypeFeature(type: StorageType, features: Set<Feature>): void {
  if (type === V128) features.add("simd");
  if (!isReference(type)) return;
  const heapType = heapTypeOf(type);
  if (heapType === EXN || heapType === NOEXN) features.add("exceptions");
  else if (heapType >= 0 || !isNullable(type)) features.add("typed-function-references");
  else features.add(heapType === FUNC || heapType === EXTERN ? "reference-types" : "gc");
}

function addStructureFeatures(module: WasmModule, features: Set<Feature>): void {
  const memories = [...importsOf(module, "memory").map(({ memory }) => memory), ...module.memories];
  const tables = [...importsOf(module, "table").map(({ table }) => table), ...module.tables];
  const importedGlobals = importsOf(module, "global").map(({ global }) => global);
  if (memories.length > 1) features.add("multi-memory");
  if (memories.some(({ pageSizeLog2 }) => pageSizeLog2 !== 16)) features.add("custom-page-sizes");
  if ([...memories, ...tables].some(({ index64 }) => index64)) features.add("memory64");
  if ([...memories, ...tables].some(({ shared }) => shared)) features.add("threads");
  if (tables.length > 1) features.add("reference-types");
  for (const { element } of tables) if (element !== FUNCREF) addTypeFeature(element, features);
  for (const { type } of [...importedGlobals, ...module.globals]) addTypeFeature(type, features);
  if (importedGlobals.some(({ mutable }) => mutable) || exportsMutableGlobal(module)) {
    features.add("mutable-globals");
  }
  if (module.tags.length > 0 || module.importedTagCount > 0) features.add("exceptions");
  const segments = [...module.data, ...module.elements];
  if (module.dataCount !== undefined || segments.some(({ mode }) => mode !== "active")) {
    features.add("bulk-memory");
  }
}

function exportsMutableGlobal(module: WasmModule): boolean {
  const { importedGlobalCount } = module;
  return module.exports.some(
    ({ kind, index }) => kind === "global" && module.globals[index - importedGlobalCount]?.mutable === true,
  );
}
