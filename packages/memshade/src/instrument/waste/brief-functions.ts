import {
  ACCESS_BYTES,
  ACCESS_KIND,
  AccessKind,
  I32,
  I64,
  OPCODE_NAME,
  type OpcodeName,
  opcodeId,
  RESULT_TYPE,
  type ValType,
} from "../../wasm/index.ts";
import { operandsAbove } from "../access-operands.ts";
import type { AppendedFunctions } from "../appended-functions.ts";
import { BodyBuilder } from "../body-builder.ts";
import { checkAddress, computeAddress } from "./access-address.ts";
import { BodySink } from "./body-sink.ts";
import type { BriefSnippets } from "./brief-snippets.ts";

const LOCAL_GET = opcodeId("local.get");

/**
 * Functions that take the place of plain loads and stores where code size counts more than time. Parameters: those of
 * the instruction, then its displacement and the store's id or the load's number.
 */
export class BriefFunctions {
  readonly #appended: AppendedFunctions;
  readonly #snippets: BriefSnippets;
  readonly #memory64: boolean;
  readonly #made = new Map<number, number>();

  /** `memory64`: addresses are i64. */
  constructor(appended: AppendedFunctions, snippets: BriefSnippets, memory64: boolean) {
    this.#appended = appended;
    this.#snippets = snippets;
    this.#memory64 = memory64;
  }

  get(op: number): number {
    const known = this.#made.get(op);
    if (known !== undefined) return known;
    const isStore = ACCESS_KIND[op] === AccessKind.Store;
    const type = this.#appended.typeIndex(
      [this.#memory64 ? I64 : I32, ...operandsAbove(op), I32, I32],
      isStore ? [] : [RESULT_TYPE[op]],
    );
    const index = this.#appended.add(type, () => (isStore ? this.#store(op) : this.#load(op)));
    this.#made.set(op, index);
    return index;
  }

  #load(op: number): Uint8Array {
    const [displacement, number, result, address] = [1, 2, 3, 4];
    const whole = this.#memory64 ? address + 1 : address;
    const body = new BodyBuilder([RESULT_TYPE[op], ...this.#addressTypes]);
    this.#snippets.begin();
    computeAddress(body, displacement, address, whole);
    checkAddress(body, address, whole);
    body
      .op("local.get", whole)
      .op(OPCODE_NAME[op] as OpcodeName, 0, 0)
      .op("local.set", result);
    this.#snippets.followLoad(new BodySink(body), ACCESS_BYTES[op], address, number);
    return body.op("local.get", result).finish();
  }

  #store(op: number): Uint8Array {
    const [value, displacement, store, id, address] = [1, 2, 3, 4, 5];
    const whole = this.#memory64 ? address + 1 : address;
    const body = new BodyBuilder([this.#snippets.idType, ...this.#addressTypes]);
    this.#snippets.begin();
    const sink = new BodySink(body);
    computeAddress(body, displacement, address, whole);
    checkAddress(body, address, whole);
    body.op("local.get", whole);
    sink.local(LOCAL_GET, value);
    this.#snippets.compareCold(sink, op, ACCESS_BYTES[op], { address, whole, value, store });
    body.op(OPCODE_NAME[op] as OpcodeName, 0, 0);
    this.#snippets.followStore(sink, ACCESS_BYTES[op], address, store, id);
    return body.finish();
  }

  /** Types of locals with an address: an i32, and what the access itself takes. */
  get #addressTypes(): ValType[] {
    return this.#memory64 ? [I32, I64] : [I32];
  }
}
