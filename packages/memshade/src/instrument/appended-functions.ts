import { ByteWriter } from "../bytes/writer.ts";
import { type FuncType, functionCount, type ValType, type WasmModule, writeType } from "../wasm/index.ts";

const FUNC = 0x60;

/** Function types and functions that instrumentation puts behind the module's own. Nothing of the module moves. */
export class AppendedFunctions {
  readonly #module: WasmModule;
  readonly #types: Uint8Array[] = [];
  readonly #typeIndices = new Map<string, number>();
  readonly #functions: { type: number; body: () => Uint8Array }[] = [];

  constructor(module: WasmModule) {
    this.#module = module;
  }

  /** Index of a plain function type, made when first asked for. */
  typeIndex(params: readonly ValType[], results: readonly ValType[]): number {
    const key = `${params.join()}:${results.join()}`;
    const known = this.#typeIndices.get(key);
    if (known !== undefined) return known;
    const writer = new ByteWriter(16).u8(FUNC).u32Leb(params.length);
    for (const type of params) writeType(writer, type);
    writer.u32Leb(results.length);
    for (const type of results) writeType(writer, type);
    const index = this.#module.types.length + this.#types.length;
    this.#types.push(writer.finish());
    this.#typeIndices.set(key, index);
    return index;
  }

  typeIndexOf(type: FuncType): number {
    return this.typeIndex(type.params, type.results);
  }

  /**
   * Gives out the next function index. `body` (locals and code, without its size) is asked for when the code section
   * is written, so bodies may refer to functions that are appended later.
   */
  add(type: number, body: () => Uint8Array): number {
    this.#functions.push({ type, body });
    return functionCount(this.#module) + this.#functions.length - 1;
  }

  get types(): readonly Uint8Array[] {
    return this.#types;
  }

  get functionTypes(): number[] {
    return this.#functions.map(({ type }) => type);
  }

  bodies(): Uint8Array[] {
    const bodies: Uint8Array[] = [];
    // Writing a body may append further functions.
    for (let i = 0; i < this.#functions.length; i++) bodies.push(this.#functions[i].body());
    return bodies;
  }
}
