import { OPCODE_NAME, type OpcodeName } from "../../../../code/wasm/index.ts";
import type { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";

const HAS_MEMORY_INDEX = 0x40;

/** Sink that writes snippets into the body of an added function. Locals are the function's own. */
export class BodySink implements SnippetSink {
  readonly #body: BodyBuilder;

  constructor(body: BodyBuilder) {
    this.#body = body;
  }

  plain(opcode: number): void {
    this.#body.op(OPCODE_NAME[opcode] as OpcodeName);
  }

  prefixed(id: number): void {
    this.plain(id);
  }

  lane(id: number, lane: number): void {
    this.#body.op(OPCODE_NAME[id] as OpcodeName, lane);
  }

  indexed(opcode: number, index: number): void {
    this.#body.op(OPCODE_NAME[opcode] as OpcodeName, index);
  }

  local(opcode: number, symbol: number): void {
    this.#body.op(OPCODE_NAME[opcode] as OpcodeName, symbol);
  }

  i32(value: number): void {
    this.#body.i32(value);
  }

  i64(value: bigint): void {
    this.#body.i64(value);
  }

  access(id: number, alignment: number, memory: number, displacement: number): void {
    const name = OPCODE_NAME[id] as OpcodeName;
    if (memory === 0) this.#body.op(name, alignment, displacement);
    else this.#body.op(name, alignment | HAS_MEMORY_INDEX, memory, displacement);
  }

  open(opcode: number, _result: number): void {
    this.#body.open(OPCODE_NAME[opcode] as OpcodeName);
  }

  openTyped(opcode: number, typeIndex: number): void {
    this.#body.openTyped(OPCODE_NAME[opcode] as OpcodeName, typeIndex);
  }

  /** Writes no branch hint: such functions are small. */
  rarely(): void {}

  end(): void {
    this.#body.end();
  }

  /** Does nothing: added functions contain no code of the original module. */
  mark(): void {}
}
