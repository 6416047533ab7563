import * as Op from "../../../../code/wasm/op.generated.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { OptionalInsertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { LOOPS } from "../layout.ts";

/** Indices, in the rewritten module, of what polls need. */
export interface PollTargets {
  /** Functions that loops of others may call, by index: 1. */
  underLoops: Uint8Array;
  /** Global with the trips that are left until the next poll. */
  countdown: number;
  /** (i32) → i32: looks at them if that is due in the loop with this number, and gives the next countdown. */
  poll(): number;
}

/** Trips before the first poll. */
export const FIRST_COUNTDOWN = 32;

/** Block type without results. */
const NO_RESULT = 0x40;

/** What a loop may ask, and its number in the runtime. */
interface Poll {
  loop: number;
  readonly code: OptionalInsertion;
}

/**
 * Has loops ask whether it is time to look at blocks: those with calls or other loops inside, of functions that no other loop calls.
 * Trips of these are few and long; to ask in all functions would take six to eleven per cent of a program's time.
 */
export class LoopPolls {
  readonly #targets: PollTargets;
  #isAsked = false;
  #loops = 0;
  /** Of each open loop, outermost first. */
  readonly #open: Poll[] = [];

  constructor(targets: PollTargets) {
    this.#targets = targets;
  }

  begin(state: WalkState): void {
    this.#isAsked = this.#targets.underLoops[state.function] === 0;
    this.#open.length = 0;
  }

  enterLoop({ insertions }: WalkState, body: number): void {
    if (!this.#isAsked) return;
    this.call();
    const poll: Poll = { loop: 0, code: new OptionalInsertion((sink) => this.#write(sink, poll.loop)) };
    poll.code.isLeftOut = true;
    insertions.add(body, poll.code);
    this.#open.push(poll);
  }

  /** The innermost loop has a call, or another loop, inside. */
  call(): void {
    const innermost = this.#open.at(-1);
    if (innermost?.code.isLeftOut !== true) return;
    innermost.code.isLeftOut = false;
    innermost.loop = this.#loops++ % LOOPS;
  }

  leaveLoop(): void {
    this.#open.pop();
  }

  #write(sink: SnippetSink, loop: number): void {
    const { countdown, poll } = this.#targets;
    sink.indexed(Op.GLOBAL_GET, countdown);
    sink.i32(1);
    sink.plain(Op.I32_SUB);
    sink.indexed(Op.GLOBAL_SET, countdown);
    sink.indexed(Op.GLOBAL_GET, countdown);
    sink.plain(Op.I32_EQZ);
    sink.rarely();
    sink.open(Op.IF, NO_RESULT);
    sink.i32(loop);
    sink.indexed(Op.CALL, poll());
    sink.indexed(Op.GLOBAL_SET, countdown);
    sink.end();
  }
}
