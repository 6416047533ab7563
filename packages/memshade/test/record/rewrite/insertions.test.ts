import { describe, expect, it } from "vitest";
import * as Op from "../../../src/code/wasm/op.generated.ts";
import { FunctionWriter } from "../../../src/record/rewrite/write/function-writer.ts";
import {
  callOf,
  type Insertion,
  Insertions,
  NOTHING,
  OptionalInsertion,
} from "../../../src/record/rewrite/write/insertions.ts";

import { noTemporaries } from "../../../src/record/rewrite/write/temporaries.ts";

/** A body of three instructions: its size, no locals, `nop`, `drop`, `end`. */
const SOURCE = Uint8Array.of(4, 0, Op.NOP, Op.DROP, Op.END);
const BODY = { sizeStart: 0, start: 1, codeStart: 2, end: 5 };
const [NOP_AT, DROP_AT, END_AT] = [2, 3, 4];

/** Code of the body with the insertions of `ask`; constants represent insertions. */
function rewritten(ask: (insertions: Insertions) => void): number[] {
  const insertions = new Insertions();
  ask(insertions);
  const writer = new FunctionWriter(SOURCE, insertions, { memory64: false, capacity: 1 });
  expect(writer.writeRewritten(BODY, 0, noTemporaries())).toBe(true);
  return [...writer.bodies.subarray(2)];
}

const number = (value: number): Insertion => ({ write: (sink) => sink.i32(value) });
const code = (value: number) => [Op.I32_CONST, value];

describe("insertions", () => {
  it("are written where they were added, in the order of positions", () => {
    const written = rewritten((insertions) => {
      insertions.add(END_AT, number(2));
      insertions.add(NOP_AT, number(1));
    });
    expect(written).toEqual([...code(1), Op.NOP, Op.DROP, ...code(2), Op.END]);
  });

  it("at one position: early ones, usual ones, late ones, each in the order in which they were added", () => {
    const written = rewritten((insertions) => {
      insertions.addLate(DROP_AT, number(5));
      insertions.add(DROP_AT, number(3));
      insertions.addEarly(DROP_AT, number(1));
      insertions.add(DROP_AT, number(4));
      insertions.addEarly(DROP_AT, number(2));
    });
    expect(written).toEqual([Op.NOP, ...[1, 2, 3, 4, 5].flatMap(code), Op.DROP, Op.END]);
  });

  it("take the place of instructions, behind operands that were added late", () => {
    const written = rewritten((insertions) => {
      insertions.addLate(DROP_AT, number(1));
      insertions.replace(DROP_AT, END_AT, callOf(7));
      insertions.add(DROP_AT, number(0));
    });
    expect(written).toEqual([Op.NOP, ...code(0), ...code(1), Op.CALL, 7, Op.END]);
  });

  it("leave code out", () => {
    expect(rewritten((insertions) => insertions.replace(NOP_AT, END_AT, NOTHING))).toEqual([Op.END]);
  });

  it("may be shared, changed until they are written, and left out", () => {
    const written = rewritten((insertions) => {
      const shared = { value: 1, write: (sink) => sink.i32(shared.value) } as Insertion & { value: number };
      const left = new OptionalInsertion((sink) => sink.i32(9));
      insertions.add(NOP_AT, shared);
      insertions.add(DROP_AT, left);
      insertions.add(END_AT, shared);
      shared.value = 2;
      left.isLeftOut = true;
    });
    expect(written).toEqual([...code(2), Op.NOP, Op.DROP, ...code(2), Op.END]);
  });

  it("are as many as are asked for", () => {
    const many = Array.from({ length: 3000 }, (_, i) => i % 64);
    const written = rewritten((insertions) => {
      for (const value of many) insertions.add(NOP_AT, number(value));
    });
    // The body's size takes a byte more than in the other tests.
    expect(written).toEqual([0, ...many.flatMap(code), Op.NOP, Op.DROP, Op.END]);
  });
});
