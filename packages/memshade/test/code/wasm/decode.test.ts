import binaryen from "binaryen";
import { describe, expect, it } from "vitest";
import {
  type ByteRange,
  decodeLocals,
  decodeModule,
  F32,
  F64,
  formatType,
  functionType,
  globalType,
  I32,
  I64,
  memoryType,
  V128,
  type WasmModule,
} from "../../../src/code/wasm/index.ts";
import { iterateInstructions } from "./reference/operators.ts";
import { printOperator } from "./reference/print-operator.ts";
import { assemble, KITCHEN_SINK } from "./support.ts";

const sink = decodeModule(assemble(KITCHEN_SINK));

function printExpression(module: WasmModule, range: ByteRange | undefined): string[] {
  if (range === undefined) return [];
  return [...iterateInstructions(module.bytes, range.start, range.end)].map((operator) =>
    printOperator(operator),
  );
}

describe("decodeModule", () => {
  it("counts imports apart from definitions", () => {
    expect(sink.imports.map(({ module, field, kind }) => `${kind} ${module}.${field}`)).toEqual([
      "function env.log",
      "memory env.memory",
      "table env.table",
      "global env.base",
      "tag env.tag",
    ]);
    const { importedFunctionCount, importedMemoryCount, importedTableCount } = sink;
    expect([importedFunctionCount, importedMemoryCount, importedTableCount]).toEqual([1, 1, 1]);
    expect([sink.importedGlobalCount, sink.importedTagCount]).toEqual([1, 1]);
    expect([sink.functions.length, sink.bodies.length]).toEqual([3, 3]);
  });

  it("answers for indices with imports first", () => {
    expect(functionType(sink, 0)).toEqual({ kind: "func", params: [I32], results: [] });
    expect(functionType(sink, 2)).toEqual({ kind: "func", params: [I32], results: [I32] });
    expect(memoryType(sink, 0)).toMatchObject({ minimum: 1, maximum: 4, shared: true, index64: false });
    expect(memoryType(sink, 1)).toMatchObject({ minimum: 1, maximum: 70000, shared: false, index64: true });
    expect(memoryType(sink, 1).pageSizeLog2).toBe(16);
    expect(globalType(sink, 1)).toMatchObject({ type: I64, mutable: true });
  });

  it("refuses indices that the module does not have", () => {
    const noSuch = expect.objectContaining({ kind: "malformed" });
    for (const lookup of [functionType, memoryType, globalType])
      expect(() => lookup(sink, 99)).toThrow(noSuch);
  });

  it("gives initial values as ranges of instructions", () => {
    expect(sink.globals.map(({ initial }) => printExpression(sink, initial).slice(0, -1))).toEqual([
      ["i64.const -9000000000"],
      ["f32.const 0.5"],
      ["v128.const i8x16 0x01 0x00 0x00 0x00 0x02 0x00 0x00 0x00 0x03 0x00 0x00 0x00 0x04 0x00 0x00 0x00"],
      ["global.get 0", "i32.const 16", "i32.add"],
    ]);
    expect(sink.globals.map(({ type }) => type)).toEqual([I64, F32, V128, I32]);
  });

  it("lists exports and the start function", () => {
    expect(sink.exports).toEqual([
      { name: "double", kind: "function", index: 2 },
      { name: "memory", kind: "memory", index: 1 },
      { name: "oops", kind: "tag", index: 1 },
      { name: "größe", kind: "global", index: 1 },
    ]);
    expect(sink.start).toBe(1);
  });

  it("tells element segments apart by what they are for", () => {
    expect(
      sink.elements.map(({ mode, table, type, offset, items }) => [
        mode,
        table,
        formatType(type),
        printExpression(sink, offset)[0],
        items.kind === "functions"
          ? items.indices
          : items.expressions.map((range) => printExpression(sink, range)[0]),
      ]),
    ).toEqual([
      ["active", 1, "funcref", "i32.const 0", [2, 1]],
      ["passive", 0, "funcref", undefined, [2]],
      ["declarative", 0, "funcref", undefined, [1]],
      ["active", 1, "funcref", "i32.const 1", ["ref.func 2", "ref.null func"]],
      ["passive", 0, "externref", undefined, ["ref.null extern"]],
    ]);
  });

  it("finds the content of data segments", () => {
    const text = ({ start, end }: ByteRange) =>
      Buffer.from(sink.bytes.subarray(start, end)).toString("latin1");
    expect(
      sink.data.map((segment) => [
        segment.mode,
        segment.memory,
        printExpression(sink, segment.offset)[0],
        text(segment),
      ]),
    ).toEqual([
      ["active", 0, "i32.const 8", "hello"],
      ["active", 0, "i32.const 64", "\x00\x01\x02"],
      ["passive", 0, undefined, "passive"],
    ]);
    expect(sink.dataCount).toBe(3);
  });

  it("finds each body from its size to behind its last end", () => {
    for (const body of sink.bodies) {
      expect(body.sizeStart).toBeLessThan(body.start);
      expect(body.start).toBeLessThan(body.codeStart);
      expect(sink.bytes[body.end - 1]).toBe(0x0b);
    }
    expect(sink.bodies[0].sizeStart).toBe(sink.codePayloadStart + 1);
    expect(sink.bodies[1].sizeStart).toBe(sink.bodies[0].end);
    expect(decodeLocals(sink, sink.bodies[0])).toEqual([
      { count: 2, type: I32 },
      { count: 1, type: F64 },
      { count: 1, type: V128 },
    ]);
  });

  it("reads custom sections with the offset of their content", () => {
    const named = decodeModule(assemble("(module $m (func $f))", { names: true }));
    const [section] = named.customs;
    expect(section.name).toBe("name");
    expect(section.contentStart).toBe(section.payloadStart + 5);
  });

  it("expands recursion groups and keeps supertypes", () => {
    const text = `(module
      (rec (type $node (sub (struct (field (ref null $list)) (field (mut i16)))))
           (type $list (array (mut (ref null $node)))))
      (type $leaf (sub final $node (struct (field (ref null $list)) (field (mut i16)) (field f64))))
      (func (param (ref $list)) (result (ref $leaf)) unreachable))`;
    const built = binaryen.parseText(text);
    built.setFeatures(binaryen.Features.All);
    const module = decodeModule(built.emitBinary());
    built.dispose();
    expect(module.typeGroups[0]).toEqual({ first: 0, count: 2, explicit: true });
    expect(module.typeGroups[1]).toEqual({ first: 2, count: 1, explicit: false });
    const [node, list, leaf] = module.types;
    expect(node.kind === "struct" && node.fields.map(({ type }) => formatType(type))).toEqual([
      "(ref null 1)",
      "i16",
    ]);
    expect(list.kind === "array" && [formatType(list.field.type), list.field.mutable]).toEqual([
      "(ref null 0)",
      true,
    ]);
    expect(leaf.kind).toBe("struct");
    expect(module.subtypes[0]).toEqual({ final: false, supertypes: [] });
    expect(module.subtypes[2]).toEqual({ final: true, supertypes: [0] });
    expect(functionType(module, 0).params.map(formatType)).toEqual(["(ref 1)"]);
  });
});
