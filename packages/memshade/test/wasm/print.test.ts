import { describe, expect, it } from "vitest";
import { ByteWriter } from "../../src/bytes/writer.ts";
import {
  decodeModule,
  encodeBody,
  encodeModule,
  encodeVectorPayload,
  opcodeId,
  printFunction,
  readNames,
  SectionId,
} from "../../src/wasm/index.ts";
import { assemble } from "./support.ts";

describe("printFunction", () => {
  const text = `(module
    (import "env" "log" (func $log (param i32)))
    (memory 1) (tag $oops)
    (func $sum (param $from i32) (param $count i32) (result i32) (local $total i32)
      (block $done
        (loop $next
          (br_if $done (i32.eqz (local.get $count)))
          (local.set $total (i32.add (local.get $total) (i32.load offset=8 (local.get $from))))
          (br $next)))
      (if (local.get $total) (then (call $log (local.get $total))) (else nop))
      (try (do (throw $oops)) (catch_all))
      (local.get $total)))`;
  const module = decodeModule(assemble(text, { names: true }));

  it("shows offsets in the code section, nesting and names", () => {
    expect(printFunction(module, 1, readNames(module)).split("\n")).toEqual([
      "func 1 $sum (param i32 i32) (result i32) (local 1 × i32)",
      "000005    block",
      "000007      loop",
      "000009        local.get 1",
      "00000b        i32.eqz",
      "00000c        br_if 1",
      "00000e        local.get 2",
      "000010        local.get 0",
      "000012        i32.load offset=8 align=4",
      "000015        i32.add",
      "000016        local.set 2",
      "000018        br 0",
      "00001a      end",
      "00001b    end",
      "00001c    local.get 2",
      "00001e    if",
      "000020      local.get 2",
      "000022      call 0 $log",
      "000024    else",
      "000025      nop",
      "000026    end",
      "000027    try",
      "000029      throw 0",
      "00002b    catch_all",
      "00002c    end",
      "00002d    local.get 2",
      "00002f  end",
    ]);
  });

  it("says so where there is no body", () => {
    expect(printFunction(module, 0)).toBe("func 0 is not defined in this module");
    expect(printFunction(module, 9)).toBe("func 9 is not defined in this module");
  });

  it("does not indent without bound", () => {
    const nesting = 2000;
    const block = Uint8Array.of(opcodeId("block"), 0x40);
    const code = new ByteWriter();
    for (let i = 0; i < nesting; i++) code.bytes(block);
    code.bytes(new Uint8Array(nesting + 1).fill(opcodeId("end")));
    const flat = decodeModule(assemble("(module (func))"));
    const payload = encodeVectorPayload([encodeBody([], code.finish())]);
    const deep = decodeModule(encodeModule(flat, { sections: new Map([[SectionId.Code, payload]]) }));
    const lines = printFunction(deep, 0).split("\n");
    expect(lines.length).toBe(4002);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(120);
  });
});
