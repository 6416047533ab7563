import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  appendToVectorSection,
  bytesOf,
  type CompositeType,
  decodeLocals,
  decodeModule,
  encodeConstantExpression,
  encodeDataEntry,
  encodeExportEntry,
  encodeGlobalEntry,
  encodeImportEntry,
  encodeMemoryEntry,
  encodeModule,
  encodeTableEntry,
  encodeVectorPayload,
  F32,
  F64,
  FUNCREF,
  heapTypeOf,
  I32,
  I64,
  isNullable,
  isReference,
  type MemoryType,
  opcodeId,
  referenceType,
  SectionId,
  sectionPayload,
  V128,
  type ValType,
} from "../../../src/code/wasm/index.ts";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";
import {
  encodeBody,
  encodeElementEntry,
  encodeFunctionEntry,
  encodeTypeEntry,
} from "./reference/reencode.ts";
import { assemble, KITCHEN_SINK } from "./support.ts";

const EMPTY = decodeModule(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));

function decodeSections(...sections: [id: number, payload: Uint8Array][]) {
  return decodeModule(encodeModule(EMPTY, { sections: new Map(sections) }));
}

const EXTERNREF: ValType = 0x6f;
const heapType = fc.oneof(fc.integer({ min: -23, max: -12 }), fc.nat(2 ** 31));
const valType: fc.Arbitrary<ValType> = fc.oneof(
  fc.constantFrom(I32, I64, F32, F64, V128, FUNCREF, EXTERNREF),
  fc.tuple(heapType, fc.boolean()).map(([heap, nullable]) => referenceType(heap, nullable)),
);
const field = fc.record({ type: fc.oneof(valType, fc.constantFrom(0x78, 0x77)), mutable: fc.boolean() });
const compositeType: fc.Arbitrary<CompositeType> = fc.oneof(
  fc.record({
    kind: fc.constant("func" as const),
    params: fc.array(valType, { maxLength: 8 }),
    results: fc.array(valType, { maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant("struct" as const), fields: fc.array(field, { maxLength: 8 }) }),
  fc.record({ kind: fc.constant("array" as const), field }),
);
const subtype = fc.record({ final: fc.boolean(), supertypes: fc.array(fc.nat(1000), { maxLength: 1 }) });
const memory: fc.Arbitrary<MemoryType> = fc
  .record({
    minimum: fc.nat(65536),
    maximum: fc.option(fc.nat(2 ** 31), { nil: undefined }),
    shared: fc.boolean(),
    index64: fc.boolean(),
    pageSizeLog2: fc.constantFrom(0, 16),
  })
  .chain((type) =>
    type.index64
      ? fc
          .constantFrom<(number | undefined)[]>(undefined, 2 ** 40, Number.POSITIVE_INFINITY)
          .map((maximum) => ({ ...type, maximum: maximum as number | undefined }))
      : fc.constant(type),
  );

describe("value types", () => {
  it("hold heap type and nullability in one number", () => {
    fc.assert(
      fc.property(heapType, fc.boolean(), (heap, nullable) => {
        const type = referenceType(heap, nullable);
        expect([isReference(type), heapTypeOf(type), isNullable(type)]).toEqual([true, heap, nullable]);
      }),
    );
  });

  it("have one number for a shorthand and its long form", () => {
    expect(referenceType(-16, true)).toBe(FUNCREF);
    expect(referenceType(-17, true)).toBe(EXTERNREF);
    expect([I32, V128].some(isReference)).toBe(false);
  });
});

describe("entries", () => {
  it("of the type section are read back as they were", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(compositeType, subtype), { maxLength: 8 }), (entries) => {
        const payload = encodeVectorPayload(entries.map(([type, info]) => encodeTypeEntry(type, info)));
        const module = decodeSections([SectionId.Type, payload]);
        expect(module.types).toEqual(entries.map(([type]) => type));
        expect(module.subtypes).toEqual(entries.map(([, info]) => info));
      }),
    );
  });

  it("of imports and memories are read back as they were", () => {
    fc.assert(
      fc.property(memory, fc.string(), valType, fc.boolean(), (type, name, value, mutable) => {
        const imports = [
          { module: name, field: "f", kind: "function" as const, typeIndex: 7 },
          { module: name, field: "m", kind: "memory" as const, memory: type },
          { module: name, field: "g", kind: "global" as const, global: { type: value, mutable } },
          { module: name, field: "e", kind: "tag" as const, typeIndex: 300 },
        ];
        const module = decodeSections(
          [SectionId.Import, encodeVectorPayload(imports.map(encodeImportEntry))],
          [SectionId.Memory, encodeVectorPayload([encodeMemoryEntry(type)])],
        );
        expect(module.imports).toEqual(imports);
        expect(module.memories).toEqual([type]);
      }),
    );
  });

  it("of tables and globals keep their initial values", () => {
    const nullFunction = Uint8Array.of(opcodeId("ref.null"), 0x70, opcodeId("end"));
    const limits = { minimum: 1, maximum: undefined, shared: false, index64: false };
    const table = { element: FUNCREF, ...limits };
    const initial = encodeConstantExpression(I64, -(2n ** 63n));
    const module = decodeSections(
      [
        SectionId.Table,
        encodeVectorPayload([encodeTableEntry(table), encodeTableEntry(table, nullFunction)]),
      ],
      [SectionId.Global, encodeVectorPayload([encodeGlobalEntry({ type: I64, mutable: true }, initial)])],
    );
    expect(module.tables[0]).toEqual({ ...table, initial: undefined });
    expect(bytesOf(module, module.tables[1].initial ?? { start: 0, end: 0 })).toEqual(nullFunction);
    expect(bytesOf(module, module.globals[0].initial)).toEqual(initial);
  });

  it("of all eight kinds of element segments and three of data segments are read back", () => {
    const offset = encodeConstantExpression(I32, 5);
    const expression = Uint8Array.of(opcodeId("ref.func"), 3, opcodeId("end"));
    for (let flags = 0; flags < 8; flags++) {
      const active = (flags & 1) === 0;
      const entry = encodeElementEntry({
        flags,
        table: 2,
        type: FUNCREF,
        offset: active ? offset : undefined,
        items:
          flags & 4
            ? { kind: "expressions", expressions: [expression] }
            : { kind: "functions", indices: [3, 400] },
      });
      const module = decodeSections([SectionId.Element, encodeVectorPayload([entry])]);
      const [segment] = module.elements;
      expect(segment.mode).toBe(active ? "active" : flags & 2 ? "declarative" : "passive");
      expect(segment.table).toBe((flags & 3) === 2 ? 2 : 0);
      if (segment.items.kind === "functions") expect(segment.items.indices).toEqual([3, 400]);
      else expect(segment.items.expressions.map((range) => bytesOf(module, range))).toEqual([expression]);
    }
    for (let flags = 0; flags < 3; flags++) {
      const content = Uint8Array.of(1, 2, 3);
      const entry = encodeDataEntry({ flags, memory: 9, offset: flags === 1 ? undefined : offset, content });
      const module = decodeSections([SectionId.Data, encodeVectorPayload([entry])]);
      expect(module.data[0].memory).toBe(flags === 2 ? 9 : 0);
      expect(bytesOf(module, module.data[0])).toEqual(content);
    }
  });
});

describe("constant expressions", () => {
  it.each<[type: ValType, value: number | bigint]>([
    [I32, -1],
    [I64, 2n ** 62n],
    [F32, 1.5],
    [F64, -0.1],
  ])("of type %i have the value %s when the module runs", (type, value) => {
    const globals = encodeVectorPayload([
      encodeGlobalEntry({ type, mutable: false }, encodeConstantExpression(type, value)),
    ]);
    const exports = encodeVectorPayload([encodeExportEntry({ name: "g", kind: "global", index: 0 })]);
    const sections = new Map([
      [SectionId.Global, globals],
      [SectionId.Export, exports],
    ] as [number, Uint8Array][]);
    const bytes = encodeModule(EMPTY, { sections });
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource));
    expect((instance.exports.g as WebAssembly.Global).value).toBe(value);
  });
});

describe("encodeModule with changes", () => {
  const bytes = assemble(`(module (memory (export "memory") 1)
    (func (export "answer") (result i32) i32.const 42) (func (result i32) i32.const 7))`);
  const module = decodeModule(bytes);

  it("appends entries and leaves the present ones as they are", () => {
    const type = encodeTypeEntry({ kind: "func", params: [I32], results: [I32] });
    const body = encodeBody(
      [{ count: 1, type: I64 }],
      Uint8Array.of(opcodeId("local.get"), 0, opcodeId("end")),
    );
    const sections = new Map<number, Uint8Array>();
    const append = (id: number, entry: Uint8Array) => {
      sections.set(id, appendToVectorSection(sectionPayload(module, id), 1, entry));
    };
    append(SectionId.Type, type);
    append(SectionId.Function, encodeFunctionEntry(1));
    append(SectionId.Export, encodeExportEntry({ name: "identity", kind: "function", index: 2 }));
    append(SectionId.Code, body);
    append(
      SectionId.Global,
      encodeGlobalEntry({ type: I32, mutable: true }, encodeConstantExpression(I32, 0)),
    );
    const changed = encodeModule(module, { sections });
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(changed as BufferSource));
    expect((exports.identity as (value: number) => number)(1234)).toBe(1234);
    expect((exports.answer as () => number)()).toBe(42);
    const again = decodeModule(changed);
    expect(decodeLocals(again, again.bodies[2])).toEqual([{ count: 1, type: I64 }]);
    const codeOf = (from: typeof module, index: number) => bytesOf(from, from.bodies[index]);
    expect(codeOf(again, 0)).toEqual(codeOf(module, 0));
    expect(codeOf(again, 1)).toEqual(codeOf(module, 1));
  });

  it("puts every new section where the order wants it, whatever is there", () => {
    const full = decodeModule(assemble(KITCHEN_SINK, { names: true }));
    for (const dropped of full.sections.filter(({ id }) => id !== SectionId.Custom)) {
      const payload = sectionPayload(full, dropped.id) as Uint8Array;
      const without = new ByteWriter()
        .range(full.bytes, 0, dropped.start)
        .range(full.bytes, dropped.payloadEnd, full.bytes.length)
        .finish();
      // A module without this section may be invalid, so the view is built by hand.
      const shift = dropped.payloadEnd - dropped.start;
      const move = (offset: number) => (offset > dropped.start ? offset - shift : offset);
      const sections = full.sections
        .filter((section) => section !== dropped)
        .map((section) => ({
          ...section,
          start: move(section.start),
          payloadStart: move(section.payloadStart),
          payloadEnd: move(section.payloadEnd),
        }));
      const view = { ...full, bytes: without, sections };
      const restored = encodeModule(view, { sections: new Map([[dropped.id, payload]]) });
      expect(restored).toEqual(full.bytes);
    }
  });

  it("removes sections, drops custom ones and adds others at the end", () => {
    const named = decodeModule(assemble(`(module $m (func $f) (start $f))`, { names: true }));
    const changed = decodeModule(
      encodeModule(named, {
        sections: new Map([[SectionId.Start, null]]),
        dropCustom: ({ name }) => name === "name",
        customs: [{ name: "note", content: Uint8Array.of(1, 2) }],
      }),
    );
    expect(changed.start).toBeUndefined();
    expect(changed.customs.map(({ name }) => name)).toEqual(["note"]);
    expect(changed.sections.at(-1)?.name).toBe("note");
  });

  it("keeps a custom section first that stands first", () => {
    const withNote = encodeModule(EMPTY, { customs: [{ name: "dylink.0", content: new Uint8Array() }] });
    const type = encodeVectorPayload([encodeTypeEntry({ kind: "func", params: [], results: [] })]);
    const typed = decodeModule(withNote);
    const sections = new Map([[SectionId.Type as number, type]]);
    const first = decodeModule(encodeModule(typed, { sections }));
    expect(first.sections.map(({ id }) => id)).toEqual([SectionId.Custom, SectionId.Type]);
    expect(first.sections[0].name).toBe("dylink.0");
  });
});
