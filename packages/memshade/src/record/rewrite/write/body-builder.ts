import { type OpcodeName, opcodeId, type ValType, writeOpcode, writeType } from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";

export class BodyBuilder {
  readonly #code = new ByteWriter(128);
  readonly #locals: ValType[];

  /** `locals`: types of the locals after the parameters. */
  constructor(locals: readonly ValType[] = []) {
    this.#locals = [...locals];
  }

  /** Appends an instruction whose immediates are all unsigned indices. */
  op(name: OpcodeName, ...immediates: number[]): this {
    writeOpcode(this.#code, opcodeId(name));
    for (const immediate of immediates) this.#code.u32Leb(immediate);
    return this;
  }

  range(bytes: Uint8Array, start: number, end: number): this {
    this.#code.range(bytes, start, end);
    return this;
  }

  i32(value: number): this {
    this.#code.u8(Op.I32_CONST).s32Leb(value | 0);
    return this;
  }

  i64(value: number | bigint): this {
    this.#code.u8(Op.I64_CONST).s64Leb(value);
    return this;
  }

  instructions(bytes: Uint8Array): this {
    this.#code.bytes(bytes);
    return this;
  }

  /** Like `open`, with a function type for parameters and results. */
  openTyped(name: OpcodeName, typeIndex: number): this {
    this.#code.u8(opcodeId(name)).s33Leb(typeIndex);
    return this;
  }

  /** Opens `block`, `if`, `try` … without parameters; `result` is a value type, or absent. */
  open(name: OpcodeName, result?: ValType): this {
    this.#code.u8(opcodeId(name));
    if (result === undefined) this.#code.u8(0x40);
    else writeType(this.#code, result);
    return this;
  }

  end(): this {
    this.#code.u8(Op.END);
    return this;
  }

  finish(): Uint8Array {
    return this.end().unfinished();
  }

  /** Returns locals and code without a final `end`. */
  unfinished(): Uint8Array {
    const writer = new ByteWriter(this.#code.length + 16).u32Leb(this.#locals.length);
    for (const type of this.#locals) {
      writer.u32Leb(1);
      writeType(writer, type);
    }
    return writer.bytes(this.#code.view()).finish();
  }

  code(): Uint8Array {
    return this.#code.finish();
  }
}
