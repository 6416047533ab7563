import type { WalkState } from "../../../rewrite/tool.ts";
import { OptionalInsertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import * as Op from "../../../wasm/op.generated.ts";

/** Indices, in the rewritten module, of what polls need. */
export interface PollTargets {
  /** Functions that loops of others may call, by index: 1. */
  underLoops: Uint8Array;
  /** Global with the trips that are left until the next poll. */
  countdown: number;
  /** () → i32: looks at them, and gives the next countdown. */
  poll(): number;
}

/** Trips before the first poll. */
export const FIRST_COUNTDOWN = 32;

/** Block type without results. */
const NO_RESULT = 0x40;

/**
 * Has loops ask whether it is time to look at blocks: those with calls or other loops inside, of functions that no other loop calls.
 * Trips of these are few and long; to ask in all functions would take six to eleven per cent of a program's time.
 */
export class LoopPolls {
  readonly #targets: PollTargets;
  #isAsked = false;
  /** Of each open loop, outermost first. */
  readonly #open: OptionalInsertion[] = [];

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
    const poll = new OptionalInsertion((sink) => this.#write(sink));
    poll.isLeftOut = true;
    insertions.add(body, poll);
    this.#open.push(poll);
  }

  /** The innermost loop has a call, or another loop, inside. */
  call(): void {
    const innermost = this.#open.at(-1);
    if (innermost !== undefined) innermost.isLeftOut = false;
  }

  leaveLoop(): void {
    this.#open.pop();
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
