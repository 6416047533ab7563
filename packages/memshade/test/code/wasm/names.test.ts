import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  appendFunctionNames,
  buildId,
  decodeModule,
  encodeModule,
  functionName,
  readNames,
} from "../../../src/code/wasm/index.ts";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";
import { assemble } from "./support.ts";

const TEXT = `(module
  (type $unary (func (param i32) (result i32)))
  (import "env" "log" (func (param i32)))
  (func $double (param $n i32) (result i32) (local $tmp i64) (i32.mul (local.get $n) (i32.const 2)))
  (func (export "run") (export "alias"))
  (func)
  (table $dispatch 1 funcref) (memory $heap 1) (global $sp (mut i32) (i32.const 0)) (tag $oops)
  (elem $slots func $double) (data $text "x"))`;

function withNameSection(content: (writer: ByteWriter) => void): Uint8Array {
  const module = decodeModule(assemble(TEXT));
  const writer = new ByteWriter();
  content(writer);
  return encodeModule(module, { customs: [{ name: "name", content: writer.finish() }] });
}

describe("readNames", () => {
  const module = decodeModule(assemble(TEXT, { names: true }));
  const names = readNames(module);

  it("reads the name maps that an assembler wrote", () => {
    expect(names.functions.get(1)).toBe("double");
    expect([...(names.locals.get(1) ?? [])]).toEqual([
      [0, "n"],
      [1, "tmp"],
    ]);
    expect(names.tables.get(0)).toBe("dispatch");
    expect(names.memories.get(0)).toBe("heap");
    expect(names.globals.get(0)).toBe("sp");
    expect(names.elements.get(0)).toBe("slots");
    expect(names.data.get(0)).toBe("text");
  });

  it("prefers the name section, then an export, then the import for functions", () => {
    expect(functionName(module, names, 1)).toBe("double");
    expect(functionName(module, names, 2)).toBe("run");
    const bare = readNames(decodeModule(assemble(TEXT)));
    expect(functionName(module, bare, 0)).toBe("env.log");
    expect(functionName(module, bare, 1)).toBeUndefined();
    expect(functionName(module, bare, 3)).toBeUndefined();
  });

  it("reads module, labels, types, fields and tags", () => {
    const map = (writer: ByteWriter, index: number, name: string) =>
      writer.u32Leb(1).u32Leb(index).name(name);
    const bytes = withNameSection((writer) => {
      writer.u8(0).sized(() => writer.name("the module"));
      writer.u8(3).sized(() => map(writer.u32Leb(1).u32Leb(2), 0, "loop"));
      writer.u8(4).sized(() => map(writer, 0, "unary"));
      writer.u8(10).sized(() => map(writer.u32Leb(1).u32Leb(5), 1, "next"));
      writer.u8(11).sized(() => map(writer, 0, "oops"));
    });
    const read = readNames(decodeModule(bytes));
    expect(read.module).toBe("the module");
    expect(read.labels.get(2)?.get(0)).toBe("loop");
    expect(read.types.get(0)).toBe("unary");
    expect(read.fields.get(5)?.get(1)).toBe("next");
    expect(read.tags.get(0)).toBe("oops");
  });

  it("keeps what came before a broken subsection, and what comes after it", () => {
    const bytes = withNameSection((writer) => {
      writer.u8(1).sized(() => writer.u32Leb(2).u32Leb(1).name("good").u32Leb(2).u32Leb(200).u8(0x61));
      writer.u8(99).vector(Uint8Array.of(1, 2, 3));
      writer.u8(7).sized(() => writer.u32Leb(1).u32Leb(0).name("sp"));
    });
    const read = readNames(decodeModule(bytes));
    expect([...read.functions]).toEqual([[1, "good"]]);
    expect(read.globals.get(0)).toBe("sp");
  });

  it("replaces bytes that are not UTF-8", () => {
    const bytes = withNameSection((writer) => {
      writer.u8(1).sized(() => writer.u32Leb(1).u32Leb(1).vector(Uint8Array.of(0x61, 0xff)));
    });
    expect(readNames(decodeModule(bytes)).functions.get(1)).toBe("a\ufffd");
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (content) => {
        const read = readNames(decodeModule(withNameSection((writer) => writer.bytes(content))));
        expect(read.functions.size).toBeLessThanOrEqual(content.length);
      }),
    );
  });
});

describe("buildId", () => {
  it("is the content of the build_id section", () => {
    const module = decodeModule(assemble("(module)"));
    const content = new ByteWriter().vector(Uint8Array.of(0xca, 0xfe, 0x00)).finish();
    const named = encodeModule(module, { customs: [{ name: "build_id", content }] });
    expect(buildId(decodeModule(named))).toBe("cafe00");
  });

  it("is a hash of the file without one, or with a broken one", () => {
    // sha256sum of the eight bytes of an empty module
    const hash = "93a44bbb96c751218e4c00d479e4c14358122a38";
    const empty = decodeModule(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
    expect(buildId(empty)).toBe(hash);
    for (const content of [Uint8Array.of(), Uint8Array.of(0), Uint8Array.of(9, 1)]) {
      const broken = decodeModule(encodeModule(empty, { customs: [{ name: "build_id", content }] }));
      expect(buildId(broken)).toMatch(/^[0-9a-f]{40}$/);
    }
  });
});

describe("appendFunctionNames", () => {
  const module = decodeModule(assemble(TEXT, { names: true }));

  it("adds names behind the present ones and keeps everything else", () => {
    const content = appendFunctionNames(module, [
      [4, "first"],
      [6, "später"],
    ])!;
    const extended = decodeModule(
      encodeModule(module, {
        dropCustom: ({ name }) => name === "name",
        customs: [{ name: "name", content }],
      }),
    );
    const functions = new Map([
      ...readNames(module).functions,
      [4, "first"] as const,
      [6, "später"] as const,
    ]);
    expect(readNames(extended)).toEqual({ ...readNames(module), functions });
  });

  it("has nothing to add to: no names, no section, a section without functions, a broken one", () => {
    expect(appendFunctionNames(module, [])).toBeUndefined();
    expect(appendFunctionNames(decodeModule(assemble(TEXT)), [[4, "x"]])).toBeUndefined();
    const without = withNameSection((writer) => writer.u8(0).vector(Uint8Array.of(1, 0x61)));
    expect(appendFunctionNames(decodeModule(without), [[4, "x"]])).toBeUndefined();
    const broken = withNameSection((writer) => writer.u8(1).u32Leb(100).u32Leb(3));
    expect(appendFunctionNames(decodeModule(broken), [[4, "x"]])).toBeUndefined();
  });
});
