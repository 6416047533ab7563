import type { WalkState } from "../../../rewrite/tool.ts";
import { OptionalInsertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import * as Op from "../../../wasm/op.generated.ts";

/** Indices, in the rewritten module, of what polls need. */
export interface PollTargets {
  /** Global with the trips that are left until the next poll. */
  countdown: number;
  /** () → i32: looks at them, and gives the next countdown. */
  poll(): number;
}

/** Trips before the first poll. */
export const FIRST_COUNTDOWN = 32;

/** Block type without results. */
const NO_RESULT = 0x40;

interface OpenLoop {
  readonly poll: OptionalInsertion;
  isInnermost: boolean;
}

/** Has loops ask whether it is time to look at blocks: those with calls or other loops inside, beside which that costs little. */
export class LoopPolls {
  readonly #targets: PollTargets;
  readonly #open: OpenLoop[] = [];

  constructor(targets: PollTargets) {
    this.#targets = targets;
  }

  begin(): void {
    this.#open.length = 0;
  }

  enterLoop({ insertions }: WalkState, body: number): void {
    this.call();
    const poll = new OptionalInsertion((sink) => this.#write(sink));
    insertions.add(body, poll);
    this.#open.push({ poll, isInnermost: true });
  }

  call(): void {
    const innermost = this.#open.at(-1);
    if (innermost !== undefined) innermost.isInnermost = false;
  }

  leaveLoop(): void {
    const loop = this.#open.pop();
    if (loop?.isInnermost === true) loop.poll.isLeftOut = true;
  }

  #write(sink: SnippetSink): void {
    const { countdown, poll } = this.#targets;
    sink.indexed(Op.GLOBAL_GET, countdown);
    sink.i32(1);
    sink.plain(Op.I32_SUB);
    sink.indexed(Op.GLOBAL_SET, countdown);
    sink.indexed(Op.GLOBAL_GET, countdown);
    sink.plain(Op.I32_EQZ);
    sink.rarely();
    sink.open(Op.IF, NO_RESULT);
    sink.indexed(Op.CALL, poll());
    sink.indexed(Op.GLOBAL_SET, countdown);
    sink.end();
  }
}
