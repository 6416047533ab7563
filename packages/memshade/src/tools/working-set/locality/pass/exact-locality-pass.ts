import { keepAddress } from "../../../../rewrite/walk/keep-address.ts";
import { NO_LOCAL } from "../../../../rewrite/walk/operand-stack.ts";
import { CONSTANT } from "../../../../rewrite/walk/value-numbers.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";
import { ACCESS_BYTES } from "../../../../wasm/index.ts";
import * as Op from "../../../../wasm/op.generated.ts";
import type { IntervalPass } from "../../pass/interval-pass.ts";
import { BesideMarks, FIRST_BESIDE } from "../../pass/marks/beside-marks.ts";

export interface ExactLocalityTargets {
  memory64: boolean;
  /** Function (address, size, site). */
  access: number;
}

const SELECT = 0x1b;
const SIZE_BITS = 5;
const SIZE_MASK = (1 << SIZE_BITS) - 1;

/**
 * The working-set tool with exact locality: everything that `marks` does, and behind each access a call that takes it as
 * the next of the reference stream. Nothing is merged, so the order is that of the program.
 */
export class ExactLocalityPass extends BesideMarks {
  readonly #targets: ExactLocalityTargets;

  constructor(marks: IntervalPass, targets: ExactLocalityTargets) {
    super(marks);
    this.#targets = targets;
  }

  override access(op: number, at: number, displacement: number, start: number, end: number): void {
    super.access(op, at, displacement, start, end);
    const { stack, values, insertions, temporaries, module } = this.state;
    const isConstant = stack.value[at] === CONSTANT;
    const local = isConstant ? NO_LOCAL : keepAddress(stack, values, insertions, temporaries, at, op, start);
    const constant = (isConstant ? stack.offset[at] + displacement : displacement) | 0;
    const site = start - module.codePayloadStart;
    insertions.add(end, this.kind, FIRST_BESIDE, local, constant, (site << SIZE_BITS) | ACCESS_BYTES[op]);
  }

  protected override writeOwn(sink: SnippetSink, entry: number): void {
    const { b, c, d } = this.state.insertions;
    const local = b[entry];
    const size = d[entry] & SIZE_MASK;
    this.#address(sink, local, c[entry]);
    if (this.#targets.memory64 && local !== NO_LOCAL) {
      // Size 0: memory above 4 GiB is not followed.
      sink.i32(size);
      sink.i32(0);
      this.#wideAddress(sink, local, c[entry]);
      sink.i64(32n);
      sink.plain(Op.I64_SHR_U);
      sink.plain(Op.I64_EQZ);
      sink.plain(SELECT);
    } else sink.i32(size);
    sink.i32(d[entry] >>> SIZE_BITS);
    sink.indexed(Op.CALL, this.#targets.access);
  }

  #address(sink: SnippetSink, local: number, constant: number): void {
    if (local === NO_LOCAL) {
      sink.i32(constant);
      return;
    }
    if (this.#targets.memory64) {
      this.#wideAddress(sink, local, constant);
      sink.plain(Op.I32_WRAP_I64);
      return;
    }
    sink.local(Op.LOCAL_GET, local);
    if (constant === 0) return;
    sink.i32(constant);
    sink.plain(Op.I32_ADD);
  }

  #wideAddress(sink: SnippetSink, local: number, constant: number): void {
    sink.local(Op.LOCAL_GET, local);
    if (constant === 0) return;
    sink.i64(BigInt(constant >>> 0));
    sink.plain(Op.I64_ADD);
  }
}
