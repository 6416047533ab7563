import {
  ACCESS_BYTES,
  ACCESS_KIND,
  AccessKind,
  I32,
  I64,
  OPCODE_NAME,
  type OpcodeName,
  RESULT_TYPE,
  type ValType,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { operandsAbove } from "../../../rewrite/walk/access-operands.ts";
import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import { BodySink } from "./body-sink.ts";
import type { SnippetAddress } from "./shadow-words.ts";
import { checkAddress, computeAddress, computeNear, trapTooFar } from "./sites/access-address.ts";
import type { SummarySnippets } from "./summary-snippets.ts";

/** The instruction's address is in a local, as it takes it; what follows the access takes `followed`. */
interface Accessed {
  whole: number;
  followed: SnippetAddress;
}

/**
 * Functions that take the place of plain loads and stores where code size counts more than time. Parameters: those of
 * the instruction, then its displacement, and what `SiteRecords.pushCold` pushes.
 */
export class SummaryFunctions {
  readonly #appended: AppendedFunctions;
  readonly #snippets: SummarySnippets;
  readonly #memory64: boolean;
  readonly #made = new Map<number, number>();
  #tooFar = -1;

  /** `memory64`: addresses are i64. */
  constructor(appended: AppendedFunctions, snippets: SummarySnippets, memory64: boolean) {
    this.#appended = appended;
    this.#snippets = snippets;
    this.#memory64 = memory64;
  }

  get(op: number): number {
    const known = this.#made.get(op);
    if (known !== undefined) return known;
    const isStore = ACCESS_KIND[op] === AccessKind.Store;
    const record: ValType[] = Array(this.#snippets.records.coldOperands).fill(I32);
    const type = this.#appended.typeIndex(
      [this.#memory64 ? I64 : I32, ...operandsAbove(op), I32, ...record],
      isStore ? [] : [RESULT_TYPE[op]],
    );
    const index = this.#appended.add(type, () => (isStore ? this.#store(op) : this.#load(op)));
    this.#made.set(op, index);
    return index;
  }

  #load(op: number): Uint8Array {
    const record = 2;
    const result = record + this.#snippets.records.coldOperands;
    const body = new BodyBuilder([RESULT_TYPE[op], ...this.#addressTypes()]);
    const sink = new BodySink(body);
    const { whole, followed } = this.#address(body, 1, result + 1);
    body
      .op("local.get", whole)
      .op(OPCODE_NAME[op] as OpcodeName, 0, 0)
      .op("local.set", result);
    this.#snippets.records.setCold(sink, record);
    this.#snippets.followLoad(sink, ACCESS_BYTES[op], followed, record);
    return body.op("local.get", result).finish();
  }

  #store(op: number): Uint8Array {
    const value = 1;
    const record = 3;
    const id = record + this.#snippets.records.coldOperands;
    const body = new BodyBuilder([I64, ...this.#addressTypes()]);
    const sink = new BodySink(body);
    const { whole, followed } = this.#address(body, 2, id + 1);
    this.#snippets.records.setCold(sink, record);
    body.op("local.get", whole);
    sink.local(Op.LOCAL_GET, value);
    const size = ACCESS_BYTES[op];
    this.#snippets.compareCold(sink, op, size, { whole, followed, value, store: record });
    body.op(OPCODE_NAME[op] as OpcodeName, 0, 0);
    this.#snippets.followStore(sink, size, followed, record, id);
    return body.finish();
  }

  /** Types of locals with an address: an i32, and what the access itself takes. */
  #addressTypes(): ValType[] {
    return this.#memory64 ? [I32, I64] : [I32];
  }

  /** Adds the displacement that a parameter has to the address, in the locals from `address` on. */
  #address(body: BodyBuilder, parameter: number, address: number): Accessed {
    const followed = { local: address, constant: 0, displacement: 0, isWide: false };
    if (!this.#memory64) {
      computeNear(body, parameter, address, this.#trap());
      return { whole: address, followed };
    }
    const whole = address + 1;
    computeAddress(body, parameter, address, whole);
    checkAddress(body, address, whole);
    return { whole, followed };
  }

  #trap(): number {
    if (this.#tooFar < 0)
      this.#tooFar = this.#appended.add(this.#appended.typeIndex([], []), () => trapTooFar());
    return this.#tooFar;
  }
}
