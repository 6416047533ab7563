import { describe, expect, it } from "vitest";
import * as Op from "../../../../src/code/wasm/op.generated.ts";
import type { WalkState } from "../../../../src/record/rewrite/tool.ts";
import { FunctionWriter } from "../../../../src/record/rewrite/write/function-writer.ts";
import { Insertions } from "../../../../src/record/rewrite/write/insertions.ts";
import { noTemporaries } from "../../../../src/record/rewrite/write/temporaries.ts";
import { LoopPolls } from "../../../../src/record/tools/heap/pass/heap-pass.ts";

/** A body of three instructions: its size, no locals, `drop`, `drop`, `end`. */
const SOURCE = Uint8Array.of(4, 0, Op.DROP, Op.DROP, Op.END);
const BODY = { sizeStart: 0, start: 1, codeStart: 2, end: 5 };
const [OUTER, INNER] = [2, 3];
const POLL = 9;

/** Flags of the three instructions after a walk through a function: true if a loop polls in front of the instruction. */
function asked(walk: (polls: LoopPolls, state: WalkState) => void, underLoops = 0): boolean[] {
  const insertions = new Insertions();
  const polls = new LoopPolls({ countdown: 3, poll: () => POLL, underLoops: Uint8Array.of(underLoops) });
  const state = { insertions, function: 0 } as WalkState;
  polls.begin(state);
  walk(polls, state);
  const writer = new FunctionWriter(SOURCE, insertions, { memory64: false, capacity: 1 });
  expect(writer.writeRewritten(BODY, 0, noTemporaries())).toBe(true);
  const parts: boolean[] = [];
  let asks = false;
  const code = [...writer.bodies.subarray(2)];
  code.forEach((byte, at) => {
    if (byte === Op.CALL && code[at + 1] === POLL) asks = true;
    if (byte !== Op.DROP && at !== code.length - 1) return;
    parts.push(asks);
    asks = false;
  });
  return parts;
}

describe("loops that ask whether it is time to look at blocks", () => {
  it("are those with another loop inside, and not the innermost", () => {
    const nested = asked((polls, state) => {
      polls.enterLoop(state, OUTER);
      polls.enterLoop(state, INNER);
      polls.leaveLoop();
      polls.leaveLoop();
    });
    expect(nested).toEqual([true, false, false]);
  });

  it("are those with a call inside", () => {
    const calling = asked((polls, state) => {
      polls.enterLoop(state, OUTER);
      polls.call();
      polls.leaveLoop();
      polls.enterLoop(state, INNER);
      polls.leaveLoop();
    });
    expect(calling).toEqual([true, false, false]);
  });

  it("are none for a call outside of loops", () => {
    const outside = asked((polls, state) => {
      polls.call();
      polls.enterLoop(state, OUTER);
      polls.leaveLoop();
      polls.call();
    });
    expect(outside).toEqual([false, false, false]);
  });

  it("are none in functions that another loop calls", () => {
    const calling = (polls: LoopPolls, state: WalkState) => {
      polls.enterLoop(state, OUTER);
      polls.call();
      polls.leaveLoop();
    };
    expect(asked(calling, 0)).toEqual([true, false, false]);
    expect(asked(calling, 1)).toEqual([false, false, false]);
  });
});
