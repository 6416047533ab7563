import { describe, expect, it } from "vitest";
import { loweringsById } from "../../../src/code/aot/subset.ts";
import {
  decodeModule,
  IMMEDIATE_KIND,
  OPCODE_NAME,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
} from "../../../src/code/wasm/index.ts";
import { bytesOfBase64 } from "../../../src/ground/bytes/base64.ts";
import { COMMON_PATH_BASE64 } from "../../../src/record/tools/heap/common-path.generated.ts";
import { USUAL_RUNTIME_BASE64 } from "../../../src/record/tools/heap/runtime-usual.generated.ts";
import { WASTE_SUMMARY_BASE64 } from "../../../src/record/tools/waste/summary.generated.ts";
import { WORKING_SET_RUNTIME_BASE64 } from "../../../src/record/tools/working-set/working-set.generated.ts";

/** Names of the instructions in a module that the compiler does not support. */
function outside(base64: string): string[] {
  const { bytes, bodies } = decodeModule(bytesOfBase64(base64));
  const found = new Set<string>();
  for (const { codeStart, end } of bodies)
    for (let at = codeStart; at < end; ) {
      const id = opcodeIdAt(bytes, at);
      if (!loweringsById().has(id)) found.add(String(OPCODE_NAME[id]));
      at = skipImmediates(bytes, skipOpcode(bytes, at), IMMEDIATE_KIND[id]);
    }
  return [...found].sort();
}

describe("the runtimes of tools", () => {
  it.each([
    ["heap, the common path", COMMON_PATH_BASE64],
    ["waste", WASTE_SUMMARY_BASE64],
    ["working set", WORKING_SET_RUNTIME_BASE64],
  ])("have only instructions that machine code is made of: %s", (_, base64) => {
    expect(outside(base64)).toEqual([]);
  });

  it("have floating-point numbers in one sum of the heap's", () => {
    expect(outside(USUAL_RUNTIME_BASE64)).toEqual([
      "f64.add",
      "f64.convert_i64_u",
      "f64.load",
      "f64.mul",
      "f64.store",
    ]);
  });
});
