import { describe, expect, it } from "vitest";
import { openObject } from "../../../src/code/objects/index.ts";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";

const HEADER = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

/** A module of two functions, `first` and one without a name, and the given custom sections. */
function drawModule(customs: readonly [name: string, content: Uint8Array][]): Uint8Array {
  const writer = new ByteWriter().bytes(HEADER);
  writer.u8(1).vector(Uint8Array.of(1, 0x60, 0, 0));
  writer.u8(3).vector(Uint8Array.of(2, 0, 0));
  writer.u8(10).vector(Uint8Array.of(2, 2, 0, 0x0b, 3, 0, 1, 0x0b));
  const names = new ByteWriter().u8(1).sized((body) => body.u32Leb(1).u32Leb(0).name("first"));
  for (const [name, content] of [["name", names.finish()] as const, ...customs])
    writer.u8(0).sized((body) => body.name(name).bytes(content));
  return writer.finish();
}

const prefixed = (text: string) => new ByteWriter().name(text).finish();

describe("a wasm module as an object", () => {
  const debugInfo = Uint8Array.of(1, 2, 3);
  const file = drawModule([
    [".debug_info", debugInfo],
    ["external_debug_info", prefixed("app.debug.wasm")],
    ["sourceMappingURL", prefixed("app.wasm.map")],
    ["build_id", Uint8Array.of(2, 0xab, 0x01)],
  ]);
  const object = openObject(file);

  it("has the sections of the module, custom ones under their names", () => {
    expect(object).toMatchObject({ kind: "wasm", architecture: "wasm32", addressSize: 4, size: file.length });
    expect(object.sections.map(({ name }) => name)).toEqual([
      "type",
      "function",
      "code",
      "name",
      ".debug_info",
      "external_debug_info",
      "sourceMappingURL",
      "build_id",
    ]);
    expect(object.section(".debug_info")).toEqual(debugInfo);
    expect(object.section("code")).toHaveLength(8);
    expect(object.section(".debug_line")).toBeUndefined();
  });

  it("says where its debug information is and which build it is", () => {
    expect(object.externalDebugInfo).toBe("app.debug.wasm");
    expect(object.sourceMappingUrl).toBe("app.wasm.map");
    expect(object.buildId).toBe("ab01");
  });

  it("names functions by their place in the code section", () => {
    expect([...object.symbols()].map(({ name, address, size }) => ({ name, address, size }))).toEqual([
      { name: "first", address: 1, size: 3 },
    ]);
    expect(file[object.codeOffset!]).toBe(2);
  });

  it("keeps what stands before a cut", () => {
    const cut = openObject(file.subarray(0, file.length - 3));
    expect(cut.section(".debug_info")).toEqual(debugInfo);
    expect(cut.buildId).toBeUndefined();
    expect(cut.problems.map(({ kind }) => kind)).toEqual(["truncated"]);
    expect([...cut.symbols()].map(({ name }) => name)).toEqual(["first"]);
  });

  it("keeps debug sections of a module whose code nobody can decode, and the functions before the damage", () => {
    const damaged = file.slice();
    damaged[object.codeOffset!] = 9;
    const opened = openObject(damaged);
    expect(opened.section(".debug_info")).toEqual(debugInfo);
    expect([...opened.symbols()].map(({ name }) => name)).toEqual(["first"]);
    expect(opened.problems).toHaveLength(1);
  });
});
