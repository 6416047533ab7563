import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MEASURES } from "../../../../src/model/working-set.ts";
import { BUCKETS, FRESH_BUCKET } from "../../../../src/model/working-set-series.ts";
import { CodeMarks, encodeCodeMarks } from "../../../../src/rewrite/write/code-marks.ts";
import { framesOf } from "../../../../src/tools/working-set/read/note-stack.ts";
import { Control, Snapshot } from "../../../../src/tools/working-set/read/offsets.ts";

const LAYOUT = readFileSync(
  new URL("../../../../src/tools/working-set/assembly/layout.ts", import.meta.url),
  "utf8",
);

/** `export const C_TOTAL: usize = 0` … without their prefix. */
function constantsWith(prefix: string): Record<string, number> {
  const pattern = new RegExp(`^export const ${prefix}(\\w+): \\w+ = (\\d+);`, "gm");
  return Object.fromEntries([...LAYOUT.matchAll(pattern)].map(([, name, value]) => [name, Number(value)]));
}

describe("the tables of the working-set tool", () => {
  it("are where the code inside the module has them", () => {
    expect(constantsWith("C_")).toEqual(Control);
    expect(constantsWith("S_")).toEqual(Snapshot);
  });

  it("have the model's measures and buckets", () => {
    const { MEASURES: measures, BUCKETS: buckets, FRESH_BUCKET: fresh } = constantsWith("");
    expect([measures, buckets, fresh]).toEqual([MEASURES.length, BUCKETS, FRESH_BUCKET]);
  });
});

describe("frames of an engine's stack", () => {
  it("are the functions of the module that runs, innermost first, recursion once", () => {
    const stack = `Error
    at note (file:///host.ts:1:2)
    at bintree.free (wasm://wasm/bintree-0005:wasm-function[14]:0x925)
    at bintree.drop (wasm://wasm/bintree-0005:wasm-function[11]:0x8d0)
    at bintree.drop (wasm://wasm/bintree-0005:wasm-function[11]:0x8ba)
    at call (file:///glue.js:3:4)
    at other (wasm://wasm/other-0006:wasm-function[2]:0x10)
    at wasm://wasm/bintree-0005:wasm-function[8]:0x482`;
    const marks = new CodeMarks(
      encodeCodeMarks([
        { offset: 0x8d0, original: 0x50 },
        { offset: 0x8e0, original: -1 },
        { offset: 0x920, original: 0x20 },
      ]),
    );
    expect(framesOf(stack, marks)).toEqual([
      { function: 14, offset: 0x20 },
      { function: 11, offset: 0x50 },
      { function: 8, offset: -1 },
    ]);
  });

  it("are none where no wasm runs", () => {
    expect(framesOf("Error\n    at note (file:///host.ts:1:2)", new CodeMarks(""))).toEqual([]);
  });
});
