import { expect, it } from "vitest";
import { wat } from "../../support/assemble.ts";
import type { Call } from "../../support/behaviour.ts";
import { expectAgreement, expectSameBehaviour, figuresOf, record } from "../../support/recorded.ts";
import { TOOL_VARIANTS } from "../../support/tool-variants.ts";

it("an address that other operands are pushed on is kept by whoever asks for it later", () => {
  const module = wat(`(module (memory (export "memory") 4 8)
    (func (export "run") (param i32) (result i32)
      (i32.atomic.store (i32.const 8192) (i32.const 77))
      (i32.atomic.rmw.add (i32.and (local.get 0) (i32.const 0xffc))
        (i32.atomic.load16_u offset=2 (i32.and (i32.const 8190) (local.get 0))))))`);
  const calls = [0xffff, 9000, 9000].map((operand) => ["run", operand] as const);
  expectAgreement(module, calls, TOOL_VARIANTS);
});

it("an address may wait below a loop that is put into another one", () => {
  const module = wat(`(module (memory (export "memory") 4 8)
    (func (export "run") (param i32) (result i64)
      (i64.store offset=22 (i32.and (local.get 0) (i32.const 0xfff8))
        (loop (result i64)
          (local.set 0 (i32.sub (local.get 0) (i32.const 1)))
          (i32.store8 offset=128 (i32.and (local.get 0) (i32.const 64)) (local.get 0))
          (br_if 0 (i32.and (local.get 0) (i32.const 63)))
          (i64.load16_u (i32.const 3))))
      (i64.load (i32.const 512))))`);
  const calls = [4000, 61, 490].map((operand) => ["run", operand] as const);
  expectAgreement(module, calls, TOOL_VARIANTS);
});

it("an atomic that is neither aligned nor inside the memory traps for its alignment", () => {
  const operations = [
    "i32.atomic.load16_u",
    "i64.atomic.load",
    "i32.atomic.rmw.add",
    "i64.atomic.rmw16.cmpxchg_u",
  ];
  const operands = ["", "", "(i32.const 1)", "(i64.const 0) (i64.const 1)"];
  const module = wat(`(module (memory (export "memory") 1)
    ${operations
      .map(
        (name, i) => `(func (export "${i}") (param i32)
          (drop (${name} offset=0xfffffff8 (local.get 0) ${operands[i]})))`,
      )
      .join(" ")}
    (func (export "store") (param i32) (i64.atomic.store offset=0xfffffff8 (local.get 0) (i64.const 1))))`);
  const calls = ["0", "1", "2", "3", "store"].flatMap((name) => [
    [name, 9] as const,
    [name, 16] as const,
    [name, 1] as const,
  ]);
  const profiles = expectSameBehaviour(module, calls, TOOL_VARIANTS);
  expect(profiles.length).toBe(TOOL_VARIANTS.length);
});

it("what moves bytes between memories, or traps before it moves any, is told in the same way by all", () => {
  const module = wat(`(module (memory $main (export "memory") 2 2) (memory $other 1 8)
    (data $bytes "0123456789abcdef")
    (func (export "inside") (param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2)))
    (func (export "out") (param i32 i32 i32) (memory.copy $other $main (local.get 0) (local.get 1) (local.get 2)))
    (func (export "in") (param i32 i32 i32) (memory.copy $main $other (local.get 0) (local.get 1) (local.get 2)))
    (func (export "elsewhere") (param i32 i32 i32)
      (memory.fill $other (local.get 0) (local.get 1) (local.get 2))
      (memory.copy $other $other (local.get 0) (local.get 1) (local.get 2)))
    (func (export "fill") (param i32 i32 i32) (memory.fill (local.get 0) (local.get 1) (local.get 2)))
    (func (export "init") (param i32 i32 i32) (memory.init $bytes (local.get 0) (local.get 1) (local.get 2)))
    (func (export "load") (param i32 i32 i32) (drop (i64.load (local.get 0)))))`);
  const moved: Call[] = [
    ["fill", 1000, 7, 300],
    ["out", 128, 1100, 200],
    ["in", 70_000, 100, 128],
    ["elsewhere", 1, 2, 3],
    ["inside", 9000, 70_000, 64],
    ["init", 20_000, 1, 15],
    ["load", 20_004, 0, 0],
  ];
  expectAgreement(module, moved, TOOL_VARIANTS);
  const trapping: Call[] = [
    ["fill", 131_000, 0, 73],
    ["inside", 0, 131_071, 2],
    ["inside", -4096, 0, 4096],
    ["fill", 64, 0, -64],
    ["out", 0, 131_071, 2],
    ["in", 0, 65_530, 7],
    ["init", 131_070, 0, 3],
  ];
  for (const { options } of TOOL_VARIANTS) {
    const { behaviour, profile } = record(module, trapping, options);
    expect(new Set(behaviour.results)).toEqual(new Set(["trap: memory access out of bounds"]));
    const { lines } = figuresOf(profile) as { lines?: { lines: number } };
    expect(lines?.lines ?? 0).toBe(0);
  }
  expectAgreement(module, [...trapping, ...moved], TOOL_VARIANTS);
});

it("bulk instructions of 64-bit memories are told of as far as they are followed", () => {
  const module = wat(`(module (memory $main (export "memory") i64 2 2) (memory $other 1 8)
    (data $bytes "0123456789abcdef")
    (func (export "copy") (param i64 i64 i64) (memory.copy (local.get 0) (local.get 1) (local.get 2)))
    (func (export "out") (param i32 i64 i32) (memory.copy $other $main (local.get 0) (local.get 1) (local.get 2)))
    (func (export "in") (param i64 i32 i32) (memory.copy $main $other (local.get 0) (local.get 1) (local.get 2)))
    (func (export "fill") (param i64 i32 i64) (memory.fill (local.get 0) (local.get 1) (local.get 2)))
    (func (export "init") (param i64 i32 i32) (memory.init $bytes (local.get 0) (local.get 1) (local.get 2))))`);
  const moved: Call[] = [
    ["fill", 1000n, 7, 300n],
    ["out", 128, 1100n, 200],
    ["in", 70_000n, 100, 128],
    ["copy", 9000n, 70_000n, 64n],
    ["init", 20_000n, 1, 15],
  ];
  const followed = TOOL_VARIANTS.filter(({ options }) => options.tools?.includes("waste") === false);
  expectAgreement(module, moved, followed);
  const trapping: Call[] = [
    ["fill", 1n << 32n, 7, 8n],
    ["copy", 1n << 32n, 0n, 8n],
    ["copy", 0n, -8n, 8n],
    ["copy", 0n, 8n, -8n],
    ["init", 1n << 32n, 0, 8],
  ];
  for (const { options } of TOOL_VARIANTS) {
    const { behaviour, profile } = record(module, trapping, options);
    expect(new Set(behaviour.results)).toEqual(new Set(["trap: memory access out of bounds"]));
    const { lines } = figuresOf(profile) as { lines?: { lines: number } };
    expect(lines?.lines ?? 0).toBe(0);
  }
});
