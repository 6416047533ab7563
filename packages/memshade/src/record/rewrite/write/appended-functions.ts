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

type BodyWrite = (writer: FunctionWriter) => void;

/** Function types and functions that instrumentation appends to the module. Existing indices do not change. */
export class AppendedFunctions {
  readonly #module: WasmModule;
  readonly #types: Uint8Array[] = [];
  readonly #typeIndices = new Map<string, number>();
  readonly #functions: { type: number; write: BodyWrite; namesake: number; late: boolean }[] = [];

  constructor(module: WasmModule) {
    this.#module = module;
  }

  /** Returns the index of a plain function type, appending it on first use. */
  typeIndex(params: readonly ValType[], results: readonly ValType[]): number {
    const key = `${params.join()}:${results.join()}`;
    const existing = this.#typeIndices.get(key);
    if (existing !== undefined) return existing;
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
   * Appends a function and returns its index. `body` (locals and code, without its size) is called when the code
   * section is written, so it may refer to functions appended later. `namesake`: function of the module whose name
   * appears in stack traces, −1 for none.
   */
  add(type: number, body: () => Uint8Array, namesake = -1): number {
    return this.addWritten(type, (writer) => writer.writeBody(body()), namesake);
  }

  /** Like `add`, but the body is written directly to the code section. */
  addWritten(type: number, write: BodyWrite, namesake = -1): number {
    return this.#push({ type, write, namesake, late: false });
  }

  /** Like `add`, but `body` is called after all other bodies were written, including later ones. */
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

  functionEntries(): Uint8Array {
    const writer = new ByteWriter(this.#functions.length * 2);
    for (const { type } of this.#functions) writer.u32Leb(type);
    return writer.finish();
  }

  /** Returns indices and names of appended functions, given the names of the module's own functions. */
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
