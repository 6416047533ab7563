import {
  ACCESS_BYTES,
  ACCESS_KIND,
  AccessKind,
  I32,
  OPCODE_NAME,
  type OpcodeName,
  opcodeId,
  RESULT_TYPE,
} from "../../wasm/index.ts";
import { operandsAbove } from "../access-operands.ts";
import type { AppendedFunctions } from "../appended-functions.ts";
import { BodyBuilder } from "../body-builder.ts";
import { BodySink } from "./body-sink.ts";
import type { BriefSnippets } from "./brief-snippets.ts";

/** An address that no 32-bit memory has, for operands that reach beyond it. */
const OUT_OF_REACH = 0xffffffff;
const LOCAL_GET = opcodeId("local.get");

/**
 * Functions that take the place of plain loads and stores where code size counts more than time. Parameters: those of
 * the instruction, then its displacement and the store's id or the load's number.
 */
export class BriefFunctions {
  readonly #appended: AppendedFunctions;
  readonly #snippets: BriefSnippets;
  readonly #made = new Map<number, number>();

  constructor(appended: AppendedFunctions, snippets: BriefSnippets) {
    this.#appended = appended;
    this.#snippets = snippets;
  }

  get(op: number): number {
    const known = this.#made.get(op);
    if (known !== undefined) return known;
    const isStore = ACCESS_KIND[op] === AccessKind.Store;
    const type = this.#appended.typeIndex(
      [I32, ...operandsAbove(op), I32, I32],
      isStore ? [] : [RESULT_TYPE[op]],
    );
    const index = this.#appended.add(type, () => (isStore ? this.#store(op) : this.#load(op)));
    this.#made.set(op, index);
    return index;
  }

  #load(op: number): Uint8Array {
    const [displacement, number, address, result] = [1, 2, 3, 4];
    const body = new BodyBuilder([I32, RESULT_TYPE[op]]);
    addressOf(body, displacement, address);
    body
      .op("local.get", address)
      .op(OPCODE_NAME[op] as OpcodeName, 0, 0)
      .op("local.set", result);
    this.#snippets.followLoad(new BodySink(body), ACCESS_BYTES[op], address, number);
    return body.op("local.get", result).finish();
  }

  #store(op: number): Uint8Array {
    const [value, displacement, store, address, id] = [1, 2, 3, 4, 5];
    const body = new BodyBuilder([I32, I32]);
    const sink = new BodySink(body);
    addressOf(body, displacement, address);
    body.op("local.get", address);
    sink.local(LOCAL_GET, value);
    this.#snippets.compareCold(sink, op, ACCESS_BYTES[op], address, value, store);
    body.op(OPCODE_NAME[op] as OpcodeName, 0, 0);
    this.#snippets.followStore(sink, ACCESS_BYTES[op], address, store, id);
    return body.finish();
  }
}

/** address = first parameter + displacement; traps where the sum is beyond any memory. */
function addressOf(body: BodyBuilder, displacement: number, address: number): void {
  body.op("local.get", 0).op("local.get", displacement).op("i32.add").op("local.tee", address);
  body.op("local.get", 0).op("i32.lt_u").open("if");
  body.op("local.get", 0).op("i32.load8_u", 0, OUT_OF_REACH).op("drop").end();
}
