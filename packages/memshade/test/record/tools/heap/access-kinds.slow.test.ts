import { describe, expect, it } from "vitest";
import { wat } from "../../../support/assemble.ts";
import { EXACT, MERGED, Watched } from "../../../support/counters.ts";

// All instructions that access memory, by their operands besides the address.

const LOADS: Record<string, string[]> = {
  i32: ["i32.load", "i32.load8_s", "i32.load8_u", "i32.load16_s", "i32.load16_u"],
  i64: [
    "i64.load",
    "i64.load8_s",
    "i64.load8_u",
    "i64.load16_s",
    "i64.load16_u",
    "i64.load32_s",
    "i64.load32_u",
  ],
  f32: ["f32.load"],
  f64: ["f64.load"],
  v128: [
    "v128.load",
    "v128.load8x8_s",
    "v128.load8x8_u",
    "v128.load16x4_s",
    "v128.load16x4_u",
    "v128.load32x2_s",
    "v128.load32x2_u",
    "v128.load8_splat",
    "v128.load16_splat",
    "v128.load32_splat",
    "v128.load64_splat",
    "v128.load32_zero",
    "v128.load64_zero",
  ],
};
const STORES: Record<string, string[]> = {
  i32: ["i32.store", "i32.store8", "i32.store16"],
  i64: ["i64.store", "i64.store8", "i64.store16", "i64.store32"],
  f32: ["f32.store"],
  f64: ["f64.store"],
  v128: ["v128.store"],
};
const LANES = [8, 16, 32, 64];

const WIDTHS: Record<string, string[]> = { i32: ["", "8", "16"], i64: ["", "8", "16", "32"] };
const atomic = (type: string, width: string, operation: string) =>
  operation === "load" || operation === "store"
    ? `${type}.atomic.${operation}${width}${operation === "load" && width !== "" ? "_u" : ""}`
    : `${type}.atomic.rmw${width}.${operation}${width === "" ? "" : "_u"}`;
const RMW = ["add", "sub", "and", "or", "xor", "xchg"];

interface Case {
  name: string;
  /** The instruction, with its address from `$at` and without a result. */
  text: (memarg: string) => string;
  reads: boolean;
}

const constant = (type: string) => (type === "v128" ? "(v128.const i32x4 1 2 3 4)" : `(${type}.const 1)`);

const PLAIN: Case[] = [
  ...Object.values(LOADS)
    .flat()
    .map((name) => ({
      name,
      text: (memarg: string) => `(drop (${name} ${memarg} (local.get $at)))`,
      reads: true,
    })),
  ...Object.entries(STORES).flatMap(([type, names]) =>
    names.map((name) => ({
      name,
      text: (memarg: string) => `(${name} ${memarg} (local.get $at) ${constant(type)})`,
      reads: false,
    })),
  ),
  ...LANES.flatMap((bits) => [
    {
      name: `v128.load${bits}_lane`,
      text: (memarg: string) =>
        `(drop (v128.load${bits}_lane ${memarg} 1 (local.get $at) ${constant("v128")}))`,
      reads: true,
    },
    {
      name: `v128.store${bits}_lane`,
      text: (memarg: string) => `(v128.store${bits}_lane ${memarg} 1 (local.get $at) ${constant("v128")})`,
      reads: false,
    },
  ]),
];

const ATOMIC: Case[] = Object.entries(WIDTHS).flatMap(([type, widths]) =>
  widths.flatMap((width) => [
    {
      name: atomic(type, width, "load"),
      text: (memarg: string) => `(drop (${atomic(type, width, "load")} ${memarg} (local.get $at)))`,
      reads: true,
    },
    {
      name: atomic(type, width, "store"),
      text: (memarg: string) =>
        `(${atomic(type, width, "store")} ${memarg} (local.get $at) ${constant(type)})`,
      reads: false,
    },
    ...RMW.map((operation) => ({
      name: atomic(type, width, operation),
      text: (memarg: string) =>
        `(drop (${atomic(type, width, operation)} ${memarg} (local.get $at) ${constant(type)}))`,
      reads: true,
    })),
    {
      name: atomic(type, width, "cmpxchg"),
      text: (memarg: string) =>
        `(drop (${atomic(type, width, "cmpxchg")} ${memarg} (local.get $at) ${constant(type)} ${constant(type)}))`,
      reads: true,
    },
  ]),
);

const WAITS: Case[] = [
  {
    name: "memory.atomic.wait32",
    // The compared value differs, so that no thread waits.
    text: (memarg) => `(drop (memory.atomic.wait32 ${memarg} (local.get $at) (i32.const 77) (i64.const 0)))`,
    reads: true,
  },
  {
    name: "memory.atomic.wait64",
    text: (memarg) => `(drop (memory.atomic.wait64 ${memarg} (local.get $at) (i64.const 77) (i64.const 0)))`,
    reads: true,
  },
];

const moduleOf = (cases: readonly Case[], memory: string, memarg: string) =>
  wat(`(module (memory ${memory})
    ${cases.map(({ name, text }) => `(func (export "${name}") (param $at i32) ${text(memarg)})`).join("\n")}
    (func (export "notify") (param $at i32) (drop (memory.atomic.notify (local.get $at) (i32.const 1)))))`);

const expected = (at: number, { reads }: Case) => ({ [at & ~7]: { count: 1, reads } });

describe.each([
  ["exact", EXACT],
  ["merged", MERGED],
  ["without stack", { countersOnly: true }],
] as const)("%s counters", (_name, options) => {
  it("count 1 at the granule of the first byte, whatever the access", () => {
    const watched = new Watched(moduleOf(PLAIN, "1 1", "align=1"), options);
    PLAIN.forEach((access, i) => {
      // Every position in a granule: wide accesses reach into the next granule.
      const at = 256 + i * 40 + (i % 8);
      watched.clear();
      watched.call(access.name, at);
      expect(watched.granules(), access.name).toEqual(expected(at, access));
    });
  });

  it("add the constant offset of the instruction", () => {
    for (const offset of [1, 7, 8, 127, 128, 20000]) {
      const watched = new Watched(moduleOf(PLAIN, "1 1", `offset=${offset} align=1`), options);
      for (const access of PLAIN) {
        watched.clear();
        watched.call(access.name, 1003);
        expect(watched.granules(), `${access.name} offset=${offset}`).toEqual(
          expected(1003 + offset, access),
        );
      }
    }
  });

  it("count 1 for every atomic operation and every wait, none for a notification", () => {
    const cases = [...ATOMIC, ...WAITS];
    const watched = new Watched(moduleOf(cases, "1 1 shared", "offset=16"), options);
    cases.forEach((access, i) => {
      watched.clear();
      watched.call(access.name, i * 8);
      expect(watched.granules(), access.name).toEqual(expected(i * 8 + 16, access));
    });
    watched.clear();
    watched.call("notify", 64);
    expect(watched.granules()).toEqual({});
  });

  it("leave out an access that traps", () => {
    const watched = new Watched(moduleOf(PLAIN, "1 1", "offset=8 align=1"), options);
    for (const { name } of PLAIN) {
      expect(() => watched.call(name, 65536), name).toThrow("memory access out of bounds");
      expect(() => watched.call(name, -4), name).toThrow("memory access out of bounds");
    }
    expect(watched.granules()).toEqual({});
  });
});

it("covers every access instruction of the SIMD, threads and core instruction sets", () => {
  expect([PLAIN.length, ATOMIC.length]).toEqual([14 + 13 + 9 + 1 + 8, 7 * 9]);
});
