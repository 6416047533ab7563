import { describe, expect, it } from "vitest";
import { decodeModule, printInstruction } from "../../../src/code/wasm/index.ts";
import { bytesOfBase64 } from "../../../src/ground/bytes/base64.ts";
import { NATIVE_RUNTIME_BASE64 } from "../../../src/record/native/runtime.generated.ts";

describe("the runtime of native programs", () => {
  it("has nothing that machine code is not made of: no floats, tables, indirect calls or growing memory", () => {
    const bytes = bytesOfBase64(NATIVE_RUNTIME_BASE64);
    const names = new Set<string>();
    for (const { codeStart, end } of decodeModule(bytes).bodies)
      for (let at = codeStart; at < end; ) {
        const next = printInstruction(bytes, at, String);
        names.add(next.text.split(" ")[0]);
        at = next.end;
      }
    const refused = [...names].filter((name) =>
      /^(f32|f64|table|ref|memory\.(grow|size|init)|data)|indirect/.test(name),
    );
    expect(refused).toEqual([]);
    expect(names).toContain("i32.atomic.rmw.cmpxchg");
  });
});
