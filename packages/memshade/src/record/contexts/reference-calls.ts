import * as Op from "../../code/wasm/op.generated.ts";
import type { ToolPass, WalkState } from "../rewrite/tool.ts";
import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import type { Insertion } from "../rewrite/write/insertions.ts";
import type { LeavingFunctions } from "./leaving-functions.ts";

/**
 * Distinguishes calls by table or reference inside the module from those of the host. A global is set before such a
 * call, and the wrapper that is reached clears it. If it is still set after the call, the call has bypassed all
 * wrappers, out of the module.
 *
 * Limits: the host's next call by reference counts as one from inside if such a call traps, is a tail call out of the
 * module, or comes back by reference. A call that led out is missed if control came back into a function that left by
 * a tail call.
 * next call by reference counts as one from inside. A call that led out is missed if control came back into a function
 * that left by a tail call.
 */
export class ReferenceCalls implements ToolPass {
  readonly everywhere = true;
  readonly #leaving: LeavingFunctions;
  readonly #announce: Insertion;
  readonly #returned: Insertion;
  #state!: WalkState;

  /** `inside`: the global. `listeners`: functions () → () to call after the host had control. */
  constructor(
    appended: AppendedFunctions,
    leaving: LeavingFunctions,
    inside: number,
    listeners: readonly number[],
  ) {
    this.#leaving = leaving;
    const cameBack = appended.add(appended.typeIndex([], []), () => {
      const body = new BodyBuilder().i32(0).op("global.set", inside);
      for (const listener of listeners) body.op("call", listener);
      return body.finish();
    });
    this.#announce = {
      write(sink) {
        sink.i32(1);
        sink.indexed(Op.GLOBAL_SET, inside);
      },
    };
    this.#returned = {
      write(sink) {
        sink.indexed(Op.GLOBAL_GET, inside);
        sink.rarely();
        sink.open(Op.IF, NO_RESULT);
        sink.indexed(Op.CALL, cameBack);
        sink.end();
      },
    };
  }

  begin(state: WalkState): void {
    this.#state = state;
  }

  call(callee: number, isTail: boolean, start: number, end: number): void {
    const { insertions } = this.#state;
    if (callee < 0) insertions.addLate(start, this.#announce);
    if (!isTail && (callee < 0 || this.#leaving.has(callee))) insertions.add(end, this.#returned);
  }
}

const NO_RESULT = 0x40;
