import { decodeLocals, functionType, type ValType, type WasmModule } from "../../../code/wasm/index.ts";
import { grown } from "../../../ground/bytes/columns.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";

/** Limit of engines for the locals of a function, parameters included. */
export const MOST_LOCALS = 50_000;

/** Decodes the types of a function's parameters and locals into a reused buffer. */
export class FunctionLocals {
  readonly #module: WasmModule;
  #types: Int32Array = new Int32Array(256);

  constructor(module: WasmModule) {
    this.#module = module;
  }

  /** Returns the types of a defined function; valid until the next call. */
  typesOf(index: number): ArrayLike<ValType> {
    const { bodies, importedFunctionCount } = this.#module;
    const body = bodies[index - importedFunctionCount];
    const { params } = functionType(this.#module, index);
    let count = params.length;
    this.#reserve(count, body.start);
    for (let i = 0; i < count; i++) this.#types[i] = params[i];
    if (body.codeStart > body.start + 1)
      for (const group of decodeLocals(this.#module, body)) {
        const from = count;
        count += group.count;
        this.#reserve(count, body.start);
        this.#types.fill(group.type, from, count);
      }
    return this.#types.subarray(0, count);
  }

  #reserve(count: number, offset: number): void {
    if (count > MOST_LOCALS)
      throw new FormatError("unsupported", offset, "locals", `a function has more than ${MOST_LOCALS}`);
    if (count > this.#types.length) this.#types = grown(this.#types, count * 2);
  }
}
