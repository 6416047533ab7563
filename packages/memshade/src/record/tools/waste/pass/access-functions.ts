import {
  ACCESS_BYTES,
  ACCESS_KIND,
  AccessKind,
  I32,
  I64,
  OPCODE_NAME,
  type OpcodeName,
  PUSH_COUNT,
  RESULT_TYPE,
  type ValType,
} from "../../../../code/wasm/index.ts";
import { operandsAbove } from "../../../rewrite/walk/access-operands.ts";
import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import { checkAddress, computeAddress } from "./sites.ts";

/** Functions of the waste runtime that accesses call. */
export interface AccessTargets {
  loaded: number;
  storing: number;
  stored: number;
  /** Records a read that is not counted: the operand of an atomic access, as deadstores sees it. */
  touched: number;
}

/**
 * Functions that replace access instructions. They do the access, which may trap, and call the runtime. Parameters:
 * those of the instruction, then its displacement, its store id and its load id.
 */
export class AccessFunctions {
  readonly #appended: AppendedFunctions;
  readonly #targets: AccessTargets;
  readonly #countsAtomics: boolean;
  readonly #memory64: boolean;
  readonly #made = new Map<string, number>();

  /**
   * `countsAtomics`: read-modify-writes count as stores too. deadstores counts only the read. `memory64`: addresses are
   * i64.
   */
  constructor(
    appended: AppendedFunctions,
    targets: AccessTargets,
    countsAtomics: boolean,
    memory64: boolean,
  ) {
    this.#appended = appended;
    this.#targets = targets;
    this.#countsAtomics = countsAtomics;
    this.#memory64 = memory64;
  }

  /**
   * Returns the function for an access. `lane`: the lane immediate, −1 if the instruction has none. `lanes`: bytes of
   * the floats in a vector operand, 0 if it may hold no floats.
   */
  get(op: number, alignment: number, lane: number, lanes = 0): number {
    const key = `${op} ${alignment} ${lane} ${lanes}`;
    const existing = this.#made.get(key);
    if (existing !== undefined) return existing;
    const operands = operandsAbove(op);
    const results = PUSH_COUNT[op] === 1 ? [RESULT_TYPE[op]] : [];
    const type = this.#appended.typeIndex([this.#memory64 ? I64 : I32, ...operands, I32, I32, I32], results);
    const index = this.#appended.add(type, () => this.#body(op, alignment, lane, operands, results, lanes));
    this.#made.set(key, index);
    return index;
  }

  #body(
    op: number,
    alignment: number,
    lane: number,
    operands: readonly ValType[],
    results: readonly ValType[],
    lanes: number,
  ): Uint8Array {
    const displacement = 1 + operands.length;
    const storeId = displacement + 1;
    const loadId = storeId + 1;
    const address = loadId + 1;
    const whole = this.#memory64 ? address + 1 : address;
    const result = whole + 1;
    const name = OPCODE_NAME[op] as OpcodeName;
    const size = ACCESS_BYTES[op];
    const kind = ACCESS_KIND[op];
    const float = name.startsWith("f32") ? 4 : name.startsWith("f64") ? 8 : lanes;
    const body = new BodyBuilder([I32, ...(this.#memory64 ? [I64] : []), ...results]);

    const access = (): void => {
      body.op("local.get", whole);
      for (let i = 0; i < operands.length; i++) body.op("local.get", 1 + i);
      if (lane < 0) body.op(name, alignment, 0);
      else body.op(name, alignment, 0, lane);
      if (results.length > 0) body.op("local.set", result);
    };
    const callRuntime = (target: number, id: number): void => {
      body.op("local.get", address).i32(size);
      if (target === this.#targets.storing || target === this.#targets.touched) body.op("call", target);
      else body.op("local.get", id).i32(float).op("call", target);
    };
    computeAddress(body, displacement, address, whole);
    // An unaligned atomic traps at any address. It must trap before anything is recorded.
    if (size > 1 && name.includes(".atomic.")) {
      body.op("local.get", address).i32(size - 1);
      body.op("i32.and").open("if");
      access();
      body.end();
    }
    checkAddress(body, address, whole);
    const { loaded, storing, stored, touched } = this.#targets;
    switch (kind) {
      case AccessKind.Store:
        callRuntime(storing, storeId);
        access();
        callRuntime(stored, storeId);
        break;
      case AccessKind.Rmw:
      case AccessKind.Cmpxchg:
        if (!this.#countsAtomics) {
          callRuntime(storing, storeId);
          callRuntime(touched, 0);
          access();
          break;
        }
        callRuntime(storing, storeId);
        // The load reads the bytes from before the store.
        callRuntime(loaded, loadId);
        access();
        if (kind === AccessKind.Rmw) callRuntime(stored, storeId);
        else {
          this.#compareExpected(body, results[0], size, result);
          body.open("if");
          callRuntime(stored, storeId);
          body.end();
        }
        break;
      default:
        access();
        callRuntime(loaded, loadId);
    }
    if (results.length > 0) body.op("local.get", result);
    return body.finish();
  }

  /** Pushes 1 if a compare-exchange found the expected value, compared in as many bits as the instruction does. */
  #compareExpected(body: BodyBuilder, type: ValType, size: number, result: number): void {
    const isWide = type !== I32;
    body.op("local.get", 1);
    if (isWide && size < 8) body.i64(size === 4 ? 0xffffffff : size === 2 ? 0xffff : 0xff).op("i64.and");
    else if (!isWide && size < 4) body.i32(size === 2 ? 0xffff : 0xff).op("i32.and");
    body.op("local.get", result).op(isWide ? "i64.eq" : "i32.eq");
  }
}
