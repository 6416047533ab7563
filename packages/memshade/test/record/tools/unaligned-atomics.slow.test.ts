import { expect, it } from "vitest";
import { wat } from "../../support/assemble.ts";
import { type Call, expectTransparent } from "../../support/behaviour.ts";
import { expectSameBehaviour } from "../../support/recorded.ts";
import { TOOL_VARIANTS } from "../../support/tool-variants.ts";

const OFFSETS = ["0", "65533", "65536", "131069", "4294967292", "4294967293", "4294967295"];
const ADDRESSES = [0, 1, 2, 4, 65528, 65533, 65535, -1, -4];
const ACCESSES: readonly [text: string, operands: string][] = [
  ["i32.atomic.load", ""],
  ["i64.atomic.load16_u", ""],
  ["i64.atomic.store", "(i64.const 1)"],
  ["i32.atomic.rmw.add", "(i32.const 1)"],
  ["i64.atomic.rmw32.cmpxchg_u", "(i64.const 0) (i64.const 1)"],
];

const WASTE = TOOL_VARIANTS.filter(({ name }) => name === "waste" || name === "pairs by context");

/** A function per access and constant offset; its parameter is the address. */
function atomics(memory: string): { bytes: Uint8Array; calls: Call[] } {
  const address = memory.startsWith("i64") ? "i64" : "i32";
  const functions = ACCESSES.flatMap(([access, operands]) =>
    OFFSETS.map((offset) => {
      const instruction = `(${access} offset=${offset} (local.get 0) ${operands})`;
      const body = access.includes("store") ? instruction : `(drop ${instruction})`;
      return `(func (export "${access} ${offset}") (param ${address}) ${body})`;
    }),
  );
  const names = ACCESSES.flatMap(([access]) => OFFSETS.map((offset) => `${access} ${offset}`));
  return {
    bytes: wat(`(module (memory (export "memory") ${memory})
      ${functions.join("\n")})`),
    calls: names.flatMap((name) => ADDRESSES.map((at): Call => [name, address === "i64" ? BigInt(at) : at])),
  };
}

it.each(["1 1", "1", "1 2 shared", "i64 1 2"])(
  "atomic accesses that are neither aligned nor inside trap in the words of the plain module (memory %s)",
  (memory) => {
    const { bytes, calls } = atomics(memory);
    const { results } = expectTransparent(bytes, calls);
    for (const words of ["unaligned", "out of bounds"])
      expect(results.some((result) => result.includes(words))).toBe(true);
    expectSameBehaviour(bytes, calls, WASTE);
  },
);
