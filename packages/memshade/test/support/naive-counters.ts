import {
  appendToVectorSection,
  decodeLocals,
  decodeModule,
  encodeExportEntry,
  encodeMemoryEntry,
  encodeModule,
  F32,
  F64,
  functionCount,
  functionType,
  I32,
  I64,
  memoryType,
  opcodeId,
  SectionId,
  sectionPayload,
  V128,
  type ValType,
  type WasmModule,
} from "../../src/code/wasm/index.ts";
import { readU32Leb, skipLeb32 } from "../../src/ground/bytes/leb128.ts";
import { ByteWriter } from "../../src/ground/bytes/writer.ts";
import { iterateOperators, type Operator } from "../code/wasm/reference/operators.ts";
import { encodeFunctionEntry, encodeTypeEntry } from "../code/wasm/reference/reencode.ts";
import { type GranuleCount, granulesOf } from "./counters.ts";

const COUNTERS = "naive.counters";
const PAGE_BYTES = 65536;
const GRANULE_BYTES = 8;

/**
 * The simplest instrumentation, to compare the real one with: a call behind every access to memory 0 that
 * counts it, and a call behind every bulk instruction that counts its ranges. Nothing is merged, hoisted or left out.
 */
export function countNaively(bytes: Uint8Array): Uint8Array {
  const module = decodeModule(bytes);
  const memory = memoryType(module, 0);
  const counters = module.importedMemoryCount + module.memories.length;
  const firstFunction = functionCount(module);
  const firstType = module.types.length;
  const covered = Math.min(65536, memory.maximum ?? 65536);
  const pages = Math.ceil((covered * PAGE_BYTES) / GRANULE_BYTES / (PAGE_BYTES / 4));
  const append = (id: number, entries: readonly Uint8Array[]): [number, Uint8Array] => {
    const writer = new ByteWriter();
    for (const entry of entries) writer.bytes(entry);
    return [id, appendToVectorSection(sectionPayload(module, id), entries.length, writer.finish())];
  };
  const code = new ByteWriter().u32Leb(module.bodies.length + 2);
  module.bodies.forEach((_, defined) => {
    code.vector(countingBody(module, defined, { count: firstFunction, range: firstFunction + 1 }));
  });
  code.vector(countBody(counters)).vector(rangeBody(firstFunction));
  return encodeModule(module, {
    sections: new Map([
      append(SectionId.Type, [
        encodeTypeEntry({ kind: "func", params: [I32, I32], results: [] }),
        encodeTypeEntry({ kind: "func", params: [I32, I32, I32], results: [] }),
      ]),
      append(SectionId.Function, [firstType, firstType + 1].map(encodeFunctionEntry)),
      append(SectionId.Memory, [
        encodeMemoryEntry({
          minimum: pages,
          maximum: pages,
          shared: false,
          index64: false,
          pageSizeLog2: 16,
        }),
      ]),
      append(SectionId.Export, [encodeExportEntry({ name: COUNTERS, kind: "memory", index: counters })]),
      [SectionId.Code, code.finish()],
    ]),
  });
}

export function naiveWords(instance: WebAssembly.Instance): Uint32Array {
  return new Uint32Array((instance.exports[COUNTERS] as WebAssembly.Memory).buffer);
}

export function naiveCounts(instance: WebAssembly.Instance): Record<number, GranuleCount> {
  return granulesOf(naiveWords(instance));
}

/** Operands of an access that are above its address. */
function operandsAbove(name: string): ValType[] {
  const type: ValType = { i32: I32, i64: I64, f32: F32, f64: F64 }[name.slice(0, 3)] ?? V128;
  if (name.includes("cmpxchg")) return [type, type];
  if (name.includes(".rmw") || name.includes("store")) return [type];
  if (name.endsWith("wait32")) return [I32, I64];
  if (name.endsWith("wait64")) return [I64, I64];
  return name.includes("_lane") ? [V128] : [];
}

const isAccess = ({ name }: Operator) =>
  /^([if]\d\d|v128)\.(load|store)|^i\d\d\.atomic\.|^memory\.atomic\.wait/.test(name);

/** Locals that save operands: the address in both types, then two of every type. */
const SPILLS: readonly ValType[] = [I32, I64, I32, I64, F32, F64, V128, I32, I64, F32, F64, V128];

function countingBody(
  module: WasmModule,
  defined: number,
  calls: { count: number; range: number },
): Uint8Array {
  const body = module.bodies[defined];
  const own = decodeLocals(module, body).reduce(
    (sum, { count }) => sum + count,
    functionType(module, module.importedFunctionCount + defined).params.length,
  );
  const spill = (type: ValType, turn: number) => own + SPILLS.indexOf(type, 2 + turn * 5);
  const address = (index: number) => own + (memoryType(module, index).index64 ? 1 : 0);

  const groups = readU32Leb(module.bytes, body.start);
  const writer = new ByteWriter(body.end - body.start + 64).u32Leb(groups + SPILLS.length);
  writer.range(module.bytes, skipLeb32(module.bytes, body.start), body.codeStart);
  for (const type of SPILLS) writer.u32Leb(1).u8(type);
  const op = (name: Parameters<typeof opcodeId>[0], ...immediates: number[]) => {
    writer.u8(opcodeId(name));
    for (const immediate of immediates) writer.u32Leb(immediate);
  };
  const asAddress32 = (index: number) => {
    if (memoryType(module, index).index64) op("i32.wrap_i64");
  };

  for (const operator of iterateOperators(module, body)) {
    const copy = () => writer.range(module.bytes, operator.offset, operator.end);
    const { name, immediates } = operator;
    if ("memarg" in immediates && isAccess(operator) && immediates.memarg.memory === 0) {
      const above = operandsAbove(name);
      for (let i = above.length - 1; i >= 0; i--) op("local.set", spill(above[i], i));
      op("local.tee", address(0));
      for (let i = 0; i < above.length; i++) op("local.get", spill(above[i], i));
      copy();
      op("local.get", address(0));
      asAddress32(0);
      op("i32.const");
      writer.s32Leb(Number(BigInt.asIntN(32, immediates.memarg.offset)));
      op("i32.add");
      op("i32.const", /\.store/.test(name) ? 0 : 1);
      op("call", calls.count);
      continue;
    }
    const ranges = rangesOf(operator);
    if (!ranges.some(({ memory }) => memory === 0)) {
      copy();
      continue;
    }
    // Destination, source or value, and length are all used again after the instruction.
    const wide = ranges.map(({ memory }) => memoryType(module, memory).index64);
    const length = name !== "memory.init" && wide.every(Boolean) ? I64 : I32;
    const middle = ranges.length > 1 && wide[1] ? I64 : I32;
    op("local.set", spill(length, 1));
    op("local.set", spill(middle, 0));
    op("local.tee", address(ranges[0].memory));
    op("local.get", spill(middle, 0));
    op("local.get", spill(length, 1));
    copy();
    ranges.forEach(({ memory, reads }, i) => {
      if (memory !== 0) return;
      op("local.get", i === 0 ? address(memory) : spill(middle, 0));
      asAddress32(memory);
      op("local.get", spill(length, 1));
      if (length === I64) op("i32.wrap_i64");
      op("i32.const", reads);
      op("call", calls.range);
    });
  }
  return writer.finish();
}

function rangesOf({ name, immediates }: Operator): { memory: number; reads: number }[] {
  if (name === "memory.fill" && "index" in immediates) return [{ memory: immediates.index, reads: 0 }];
  if (!("first" in immediates)) return [];
  if (name === "memory.init") return [{ memory: immediates.second, reads: 0 }];
  if (name !== "memory.copy") return [];
  return [
    { memory: immediates.first, reads: 0 },
    { memory: immediates.second, reads: 1 },
  ];
}

const leb = (value: number) => [...new ByteWriter().u32Leb(value).finish()];

/** (address, reads): counters[address / 8] += 2, and |= reads. */
function countBody(memory: number): Uint8Array {
  const at = [0x20, 0, 0x41, 3, 0x76, 0x41, 2, 0x74];
  return Uint8Array.of(
    0,
    ...at,
    ...at,
    0x28,
    0x42,
    ...leb(memory),
    0,
    0x41,
    2,
    0x6a,
    0x20,
    1,
    0x72,
    0x36,
    0x42,
    ...leb(memory),
    0,
    0x0b,
  );
}

/** (address, size, reads): counts every eighth byte of the range, beginning with its first. */
function rangeBody(count: number): Uint8Array {
  return Uint8Array.of(
    0,
    0x02,
    0x40,
    0x03,
    0x40,
    0x20,
    1,
    0x45,
    0x0d,
    1,
    0x20,
    0,
    0x20,
    2,
    0x10,
    ...leb(count),
    0x20,
    0,
    0x41,
    8,
    0x6a,
    0x21,
    0,
    // size = size < 8 ? 0 : size - 8
    0x41,
    0,
    0x20,
    1,
    0x41,
    8,
    0x6b,
    0x20,
    1,
    0x41,
    8,
    0x49,
    0x1b,
    0x21,
    1,
    0x0c,
    0,
    0x0b,
    0x0b,
    0x0b,
  );
}
