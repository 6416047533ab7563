import { describe, expect, it } from "vitest";
import { CodeMarks, encodeCodeMarks } from "../../../../../src/record/tools/working-set/code-marks.ts";
import { framesOf, HOST_FRAMES } from "../../../../../src/record/tools/working-set/read/note-stack.ts";

describe("frames of an engine's stack", () => {
  it("are the functions of the module that runs, innermost first, recursion once, and where the host has entered", () => {
    const stack = `Error
    at note (file:///host.ts:1:2)
    at bintree.free (wasm://wasm/bintree-0005:wasm-function[14]:0x925)
    at bintree.drop (wasm://wasm/bintree-0005:wasm-function[11]:0x8d0)
    at bintree.drop (wasm://wasm/bintree-0005:wasm-function[11]:0x8ba)
    at call (file:///glue.js:3:4)
    at other (wasm://wasm/other-0006:wasm-function[2]:0x10)
    at wasm://wasm/bintree-0005:wasm-function[8]:0x482`;
    const marks = new CodeMarks(
      encodeCodeMarks({ offsets: [0x8d0, 0x8e0, 0x920], originals: [0x50, -1, 0x20] }),
    );
    expect(framesOf(stack, marks)).toEqual([
      { function: 14, offset: 0x20 },
      { function: 11, offset: 0x50 },
      { function: HOST_FRAMES, offset: -1 },
      { function: 8, offset: -1 },
      { function: HOST_FRAMES, offset: -1 },
    ]);
  });

  it("are none where no wasm runs", () => {
    expect(framesOf("Error\n    at note (file:///host.ts:1:2)", new CodeMarks(""))).toEqual([]);
  });
});
