import { describe, expect, it } from "vitest";
import { dataSymbols, decodeModule } from "../../../src/code/wasm/index.ts";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";
import { wat } from "../../support/assemble.ts";

const MEMORY = '(memory 1) (data (i32.const 1024) "abcdefgh")';

function custom(name: string, content: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(name);
  const payload = new ByteWriter().vector(text).bytes(content).finish();
  return new ByteWriter().u8(0).vector(payload).finish();
}

/** A symbol table with a function, data of 4 bytes at offset 2 of segment 0, undefined data, and a section. */
function linkingSection(): Uint8Array {
  const name = (text: string) => new TextEncoder().encode(text);
  const table = new ByteWriter().u32Leb(4);
  table.u8(0).u32Leb(0).u32Leb(0).vector(name("run"));
  table.u8(1).u32Leb(0).vector(name("table")).u32Leb(0).u32Leb(2).u32Leb(4);
  table.u8(1).u32Leb(0x10).vector(name("elsewhere"));
  table.u8(3).u32Leb(0).u32Leb(1);
  return new ByteWriter().u32Leb(2).u8(8).vector(table.finish()).finish();
}

const withSection = (name: string, content: Uint8Array) =>
  decodeModule(
    new ByteWriter()
      .bytes(wat(`(module ${MEMORY})`))
      .bytes(custom(name, content))
      .finish(),
  );

describe("names for addresses of data", () => {
  it("are exported addresses, but for those that linkers make, and variables", () => {
    const module = decodeModule(
      wat(`(module ${MEMORY} (global (export "table") i32 (i32.const 1028))
        (global (export "__data_end") i32 (i32.const 1032)) (global (export "count") (mut i32) (i32.const 1024))
        (global (export "ratio") f64 (f64.const 1)))`),
    );
    expect(dataSymbols(module)).toEqual([{ name: "table", address: 1028, bytes: undefined }]);
  });

  it("are those of code that can be loaded anywhere", () => {
    const module = decodeModule(
      wat(`(module ${MEMORY} (global $GOT.data.internal.table i32 (i32.const 1026)))`),
    );
    expect(dataSymbols(module)).toEqual([{ name: "table", address: 1026, bytes: undefined }]);
  });

  it("have sizes where a module was linked with its symbols", () => {
    expect(dataSymbols(withSection("linking", linkingSection()))).toEqual([
      { name: "table", address: 1026, bytes: 4 },
    ]);
  });

  it("are what can be read of a damaged section", () => {
    const whole = linkingSection();
    for (let length = 0; length < whole.length; length++)
      expect(dataSymbols(withSection("linking", whole.subarray(0, length))).length).toBeLessThan(2);
  });
});
