import { ACCESS_BYTES } from "../../../../../code/wasm/index.ts";
import * as Op from "../../../../../code/wasm/op.generated.ts";
import { keepAddress } from "../../../../rewrite/walk/keep-address.ts";
import { CONSTANT, NO_LOCAL } from "../../../../rewrite/walk/value-numbers.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";
import type { IntervalPass } from "../../pass/interval-pass.ts";
import { BesideMarks } from "../../pass/marks/beside-marks.ts";

export interface ExactLocalityTargets {
  memory64: boolean;
  /** Function (address, size, site). */
  access: number;
}

const SELECT = 0x1b;

/** An access of the reference stream; `local` is `NO_LOCAL` where the address is constant. */
interface Reference {
  local: number;
  constant: number;
  size: number;
  site: number;
}

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
    const { stack, insertions, module } = this.state;
    const isConstant = stack.value[at] === CONSTANT;
    const local = isConstant ? NO_LOCAL : keepAddress(this.state, at, op, start);
    const constant = (isConstant ? stack.offset[at] + displacement : displacement) | 0;
    const site = start - module.codePayloadStart;
    const reference = { local, constant, size: ACCESS_BYTES[op], site };
    insertions.add(end, { write: (sink) => this.#write(sink, reference) });
  }

  #write(sink: SnippetSink, { local, constant, size, site }: Reference): void {
    this.#address(sink, local, constant);
    if (this.#targets.memory64 && local !== NO_LOCAL) {
      // Size 0: memory above 4 GiB is not followed.
      sink.i32(size);
      sink.i32(0);
      this.#wideAddress(sink, local, constant);
      sink.i64(32n);
      sink.plain(Op.I64_SHR_U);
      sink.plain(Op.I64_EQZ);
      sink.plain(SELECT);
    } else sink.i32(size);
    sink.i32(site);
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
