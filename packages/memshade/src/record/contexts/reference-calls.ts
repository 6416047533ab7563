import * as Op from "../../code/wasm/op.generated.ts";
import type { ToolPass, WalkState } from "../rewrite/tool.ts";
import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import type { Insertion } from "../rewrite/write/insertions.ts";
import type { LeavingFunctions } from "./leaving-functions.ts";

/**
 * Tells calls through tables and references that come from inside of the module from those of the host: a global is set
 * right before one, and the wrapper that it leads to clears it. Where it is still set behind the call, that has gone past all
 * wrappers: out of the module.
 *
 * Not told apart: where such a call traps, is a tail call out of the module, or comes back in by reference from outside, the
 * next call by reference of the host is taken for one from inside; and it is not noticed that a call led out if that came back
 * into a function that left by a tail call.
 */
export class ReferenceCalls implements ToolPass {
  readonly everywhere = true;
  readonly #leaving: LeavingFunctions;
  readonly #announce: Insertion;
  readonly #returned: Insertion;
  #state!: WalkState;

  /** `inside`: the global. `listeners`: functions () → () that are told when the host had control. */
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
