import { functionCount, functionType, type WasmModule } from "../../../code/wasm/index.ts";
import { readS33Leb } from "../../../ground/bytes/leb128.ts";

const EMPTY = -64;

/** How many operands functions and tags of a module take, and how many results functions leave. */
export class Arities {
  readonly #module: WasmModule;
  /** One more than `ofFunction`; 0: not looked up yet. */
  readonly #known: Uint32Array;

  constructor(module: WasmModule) {
    this.#module = module;
    this.#known = new Uint32Array(functionCount(module));
  }

  /** Parameter count × 65,536 + result count of a function. */
  ofFunction(index: number): number {
    const known = this.#known[index];
    if (known !== 0) return known - 1;
    const { params, results } = functionType(this.#module, index);
    const arity = params.length * 0x10000 + results.length;
    this.#known[index] = arity + 1;
    return arity;
  }

  /** How many values an exception with a tag carries. */
  ofTag(tag: number): number {
    const module = this.#module;
    let imported = -1;
    for (const entry of module.imports) {
      if (entry.kind !== "tag" || ++imported !== tag) continue;
      return paramCount(module, entry.typeIndex);
    }
    return paramCount(module, module.tags[tag - module.importedTagCount]?.typeIndex ?? -1);
  }
}

/** Parameter count × 65,536 + result count of the block type at `pos`. */
export function blockArity(module: WasmModule, pos: number): number {
  const byte = module.bytes[pos];
  if (byte === 0x40) return 0;
  // Every other single byte with bit 6 set, and the two-byte reference types, is one result.
  const index = byte < 0x40 ? byte : readS33Leb(module.bytes, pos);
  if (index < 0) return index === EMPTY ? 0 : 1;
  const type = module.types[index];
  return type?.kind === "func" ? type.params.length * 0x10000 + type.results.length : 0;
}

function paramCount(module: WasmModule, typeIndex: number): number {
  const type = module.types[typeIndex];
  return type?.kind === "func" ? type.params.length : 0;
}
