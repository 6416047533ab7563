import { describe, expect, it } from "vitest";
import {
  ACCESS_BYTES,
  ACCESS_KIND,
  AccessKind,
  F32,
  I32,
  IMMEDIATE_KIND,
  ImmediateKind,
  OPCODE_ID_LIMIT,
  OPCODE_NAME,
  OPCODES,
  opcodeId,
  POP_COUNT,
  PUSH_COUNT,
  RESULT_TYPE,
  UNKNOWN_OPCODE,
  V128,
} from "../../../src/code/wasm/index.ts";

describe("the opcode table", () => {
  it("has each id once and in order", () => {
    const ids = OPCODES.map(([id]) => id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(ids.every((id) => id >= 0 && id < OPCODE_ID_LIMIT)).toBe(true);
  });

  it("uses each name once, but for the two select", () => {
    const names = OPCODES.map(([, name]) => name as string);
    const repeated = names.filter((name, index) => names.indexOf(name) !== index);
    expect(repeated).toEqual(["select"]);
    expect(OPCODES.filter(([, name]) => name === "select").map(([id]) => id)).toEqual([0x1b, 0x1c]);
  });

  it("uses every kind of immediate", () => {
    const used = new Set(OPCODES.map(([id]) => IMMEDIATE_KIND[id]));
    expect([...used].sort((a, b) => a - b)).toEqual(Object.values(ImmediateKind));
  });

  it("marks every other id as unknown", () => {
    const known = new Set<number>(OPCODES.map(([id]) => id));
    for (let id = 0; id < OPCODE_ID_LIMIT; id++) {
      expect(IMMEDIATE_KIND[id] === UNKNOWN_OPCODE).toBe(!known.has(id));
      expect(OPCODE_NAME[id] === undefined).toBe(!known.has(id));
    }
  });

  it("counts operands and results, -1 where the immediate decides", () => {
    const stack = (name: Parameters<typeof opcodeId>[0]) => {
      const id = opcodeId(name);
      return [POP_COUNT[id], PUSH_COUNT[id]];
    };
    expect(stack("i32.add")).toEqual([2, 1]);
    expect(stack("i64.store")).toEqual([2, 0]);
    expect(stack("select")).toEqual([3, 1]);
    expect(stack("local.tee")).toEqual([1, 1]);
    expect(stack("i64.add128")).toEqual([4, 2]);
    expect(stack("memory.copy")).toEqual([3, 0]);
    expect(stack("i32.atomic.rmw.cmpxchg")).toEqual([3, 1]);
    expect(stack("call")).toEqual([-1, -1]);
    expect(stack("block")).toEqual([-1, -1]);
    expect(stack("br")).toEqual([-1, 0]);
    expect(stack("struct.new")).toEqual([-1, 1]);
  });

  it("knows the type of single results", () => {
    expect(RESULT_TYPE[opcodeId("i64.eqz")]).toBe(I32);
    expect(RESULT_TYPE[opcodeId("f32.load")]).toBe(F32);
    expect(RESULT_TYPE[opcodeId("v128.load8_splat")]).toBe(V128);
    for (const name of ["i32.store", "local.get", "memory.size", "i64.mul_wide_s", "call"] as const)
      expect(RESULT_TYPE[opcodeId(name)], name).toBe(0);
  });

  it("gives bytes and kind of access to everything with a memarg, and to nothing else", () => {
    for (const [id, name] of OPCODES) {
      const hasMemarg =
        IMMEDIATE_KIND[id] === ImmediateKind.Memarg || IMMEDIATE_KIND[id] === ImmediateKind.MemargLane;
      expect(ACCESS_KIND[id] !== AccessKind.None, name).toBe(hasMemarg);
      expect(ACCESS_BYTES[id] > 0, name).toBe(hasMemarg);
    }
  });

  it("takes the width of an access from the name where the name says it", () => {
    for (const [id, name] of OPCODES) {
      const narrow = /(?:load|store|rmw|wait)(8|16|32|64)(?:_[su]|_lane|_splat|_zero|\.|$)/.exec(name);
      if (narrow !== null) expect(ACCESS_BYTES[id], name).toBe(Number(narrow[1]) / 8);
      const vector = /load(\d+)x(\d+)_/.exec(name);
      if (vector !== null) expect(ACCESS_BYTES[id], name).toBe((Number(vector[1]) * Number(vector[2])) / 8);
    }
  });

  it("calls reads loads and writes stores", () => {
    expect(ACCESS_KIND[opcodeId("v128.store16_lane")]).toBe(AccessKind.Store);
    expect(ACCESS_KIND[opcodeId("v128.load16_lane")]).toBe(AccessKind.Load);
    expect(ACCESS_KIND[opcodeId("i64.atomic.store8")]).toBe(AccessKind.Store);
    expect(ACCESS_KIND[opcodeId("i32.atomic.rmw8.xchg_u")]).toBe(AccessKind.Rmw);
    expect(ACCESS_KIND[opcodeId("i64.atomic.rmw.cmpxchg")]).toBe(AccessKind.Cmpxchg);
    expect(ACCESS_KIND[opcodeId("memory.atomic.wait64")]).toBe(AccessKind.Wait);
    expect(ACCESS_KIND[opcodeId("memory.atomic.notify")]).toBe(AccessKind.Notify);
  });
});
