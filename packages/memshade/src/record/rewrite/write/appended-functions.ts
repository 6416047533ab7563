import {
  type FuncType,
  functionCount,
  type ValType,
  type WasmModule,
  writeType,
} from "../../../code/wasm/index.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import type { FunctionWriter, LatePiece } from "./function-writer.ts";

const FUNC = 0x60;

/** Writes one body, its size included. */
type BodyWrite = (writer: FunctionWriter) => void;

/** Function types and functions that instrumentation puts behind the module's own. Nothing of the module moves. */
export class AppendedFunctions {
  readonly #module: WasmModule;
  readonly #types: Uint8Array[] = [];
  readonly #typeIndices = new Map<string, number>();
  readonly #functions: { type: number; write: BodyWrite; namesake: number; late: boolean }[] = [];

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
   * is written, so bodies may refer to functions that are appended later. `namesake` is the function of the module
   * whose name it has in stack traces, −1 for none.
   */
  add(type: number, body: () => Uint8Array, namesake = -1): number {
    return this.addWritten(type, (writer) => writer.writeBody(body()), namesake);
  }

  /** As `add`, for a body that goes straight to the code section. */
  addWritten(type: number, write: BodyWrite, namesake = -1): number {
    return this.#push({ type, write, namesake, late: false });
  }

  /** As `add`, for a body that is asked for when all others, those added later too, have been written. */
  addLate(type: number, body: () => Uint8Array): number {
    return this.#push({ type, write: (writer) => writer.writeBody(body()), namesake: -1, late: true });
  }

  #push(added: { type: number; write: BodyWrite; namesake: number; late: boolean }): number {
    this.#functions.push(added);
    return functionCount(this.#module) + this.#functions.length - 1;
  }

  get count(): number {
    return this.#functions.length;
  }

  get types(): readonly Uint8Array[] {
    return this.#types;
  }

  /** Entries of the function section. */
  functionEntries(): Uint8Array {
    const writer = new ByteWriter(this.#functions.length * 2);
    for (const { type } of this.#functions) writer.u32Leb(type);
    return writer.finish();
  }

  /** Indices and names of those that have a name, given those of the module's own functions. */
  *names(own: ReadonlyMap<number, string>): Generator<[index: number, name: string]> {
    let index = functionCount(this.#module);
    for (const { namesake } of this.#functions) {
      const name = own.get(namesake);
      if (name !== undefined) yield [index, name];
      index++;
    }
  }

  /** Writes all bodies. Writing a body may append further functions. */
  writeBodies(writer: FunctionWriter): void {
    const late: { at: number; write: BodyWrite }[] = [];
    for (let i = 0; i < this.#functions.length; i++) {
      const { write, late: isLate } = this.#functions[i];
      if (isLate) late.push({ at: writer.length, write });
      else write(writer);
    }
    const pieces = late.map(({ at, write }): LatePiece => {
      const start = writer.length;
      write(writer);
      return { start, end: writer.length, at };
    });
    writer.moveBack(pieces);
  }
}
