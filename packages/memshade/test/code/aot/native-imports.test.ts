import { describe, expect, it } from "vitest";
import { compile } from "../../../src/code/aot/compile.ts";
import { wat } from "../../support/assemble.ts";
import { type Reply, RUNS_NATIVE, runNative } from "./native-host.ts";

/** Results of calls of exported functions, in order in one process; the reason if a call traps. */
function run(text: string, calls: readonly (readonly [string, ...bigint[]])[]): (bigint | string)[] {
  const native = compile(wat(text));
  const commands = calls.map(([name, ...args]) => ({
    kind: "call" as const,
    entry: native.entries.get(name) as number,
    args,
  }));
  return runNative(native, 1, commands).map((reply: Reply) =>
    reply.kind === "result" ? reply.general : reply.kind === "trap" ? reply.why : "",
  );
}

describe.skipIf(!RUNS_NATIVE)("functions of the module `native`", () => {
  it("read and write any address of the process", () => {
    const module = `(module
      (import "native" "scratch" (func $scratch (result i64)))
      (import "native" "load8" (func $load8 (param i64) (result i32)))
      (import "native" "load32" (func $load32 (param i64) (result i32)))
      (import "native" "load64" (func $load64 (param i64) (result i64)))
      (import "native" "store16" (func $store16 (param i64 i32)))
      (import "native" "store64" (func $store64 (param i64 i64)))
      (func (export "write") (param i64)
        (call $store64 (i64.add (call $scratch) (i64.const 8)) (local.get 0))
        (call $store16 (i64.add (call $scratch) (i64.const 10)) (i32.const 0xabcd)))
      (func (export "byte") (param i64) (result i32)
        (call $load8 (i64.add (i64.add (call $scratch) (local.get 0)) (i64.const 8))))
      (func (export "scaled") (param i64) (result i32)
        (call $load32 (i64.add (call $scratch) (i64.shl (local.get 0) (i64.const 2)))))
      (func (export "all") (result i64) (call $load64 (i64.add (call $scratch) (i64.const 8)))))`;
    expect(
      run(module, [
        ["write", 0x1122334455667788n],
        ["all"],
        ["byte", 2n],
        ["byte", 3n],
        ["scaled", 3n],
      ]).slice(1),
    ).toEqual([0x11223344abcd7788n, 0xcdn, 0xabn, 0x11223344n]);
  });

  it("read and write vectors at any address of the process", () => {
    const module = `(module
      (import "native" "scratch" (func $scratch (result i64)))
      (import "native" "load64" (func $load64 (param i64) (result i64)))
      (import "native" "store64" (func $store64 (param i64 i64)))
      (import "native" "load128" (func $load128 (param i64) (result v128)))
      (import "native" "store128" (func $store128 (param i64 v128)))
      (func (export "go") (param i64) (result i64)
        (call $store64 (call $scratch) (local.get 0))
        (call $store64 (i64.add (call $scratch) (i64.const 8)) (i64.const 5))
        (call $store128 (i64.add (call $scratch) (i64.const 24))
          (i64x2.add (call $load128 (call $scratch)) (v128.const i64x2 1 2)))
        (i64.add (call $load64 (i64.add (call $scratch) (i64.const 24)))
          (i64.mul (i64.const 1000) (call $load64 (i64.add (call $scratch) (i64.const 32)))))))`;
    expect(run(module, [["go", 40n]])).toEqual([7041n]);
  });

  it("do not take a large constant for a short distance", () => {
    // 0xfffffffffffff000 is -4096. 0x80000000 and 2^32 - 8 do not fit into a 32-bit displacement.
    const module = `(module
      (import "native" "load64" (func $load64 (param i64) (result i64)))
      (import "native" "store64" (func $store64 (param i64 i64)))
      (import "native" "scratch" (func $scratch (result i64)))
      (func (export "go") (param $far i64) (result i64)
        (call $store64 (call $scratch) (i64.const 77))
        (call $load64 (i64.add (i64.add (call $scratch) (local.get $far)) (i64.const 0x80000000))))
      (func (export "down") (param $far i64) (result i64)
        (call $load64 (i64.add (i64.add (call $scratch) (local.get $far)) (i64.const -4096)))))`;
    expect(
      run(module, [
        ["go", -0x80000000n],
        ["down", 4096n],
      ]),
    ).toEqual([77n, 77n]);
  });

  it("make system calls, up to six arguments", () => {
    const module = `(module
      (import "native" "syscall0" (func $getpid (param i64) (result i64)))
      (import "native" "syscall6" (func $mmap (param i64 i64 i64 i64 i64 i64 i64) (result i64)))
      (import "native" "store64" (func $store64 (param i64 i64)))
      (import "native" "load64" (func $load64 (param i64) (result i64)))
      (func (export "pid") (result i32) (i64.gt_s (call $getpid (i64.const 39)) (i64.const 1)))
      (func (export "map") (param $length i64) (result i64) (local $at i64)
        (local.set $at (call $mmap (i64.const 9) (i64.const 0) (local.get $length) (i64.const 3) (i64.const 0x22)
          (i64.const -1) (i64.const 0)))
        (call $store64 (local.get $at) (local.get $length))
        (call $load64 (local.get $at))))`;
    expect(run(module, [["pid"], ["map", 8192n]])).toEqual([1n, 8192n]);
  });

  it("leave for a function at an address, which returns to whoever called", () => {
    // The address is that of a function that adds one: lea rax, [rdi + 1]; ret.
    const module = `(module
      (import "native" "syscall6" (func $mmap (param i64 i64 i64 i64 i64 i64 i64) (result i64)))
      (import "native" "store64" (func $store64 (param i64 i64)))
      (import "native" "load64" (func $load64 (param i64) (result i64)))
      (import "native" "scratch" (func $scratch (result i64)))
      (import "native" "jump" (func $jump (param i64 i64)))
      (func (export "prepare")
        (call $store64 (call $scratch) (call $mmap (i64.const 9) (i64.const 0) (i64.const 4096) (i64.const 7) (i64.const 0x22)
          (i64.const -1) (i64.const 0)))
        (call $store64 (call $load64 (call $scratch)) (i64.const 0xc301478d48)))
      (func (export "go") (param $argument i64)
        (call $jump (call $load64 (call $scratch)) (local.get $argument))))`;
    expect(run(module, [["prepare"], ["go", 41n], ["go", 7n]]).slice(1)).toEqual([42n, 8n]);
  });

  it("refuse a system call whose number is not constant: its register is filled last", () => {
    const module = `(module (import "native" "syscall0" (func $any (param i64) (result i64)))
      (func (export "f") (param i64) (result i64) (call $any (local.get 0))))`;
    expect(() => compile(wat(module))).toThrow(/call of native.syscall0 in function 1: .*constant/);
  });

  it("read and write the thread's storage of the image", () => {
    const module = `(module
      (import "native" "tlsLoad" (func $load (param i64) (result i64)))
      (import "native" "tlsStore" (func $store (param i64 i64)))
      (func (export "set") (param i64 i64) (call $store (local.get 0) (local.get 1)))
      (func (export "get") (param i64) (result i64) (call $load (local.get 0)))
      (func (export "second") (result i64) (call $load (i64.const 8))))`;
    expect(
      run(module, [["set", 8n, 5n], ["set", 16n, 6n], ["get", 8n], ["get", 16n], ["second"]]).slice(2),
    ).toEqual([5n, 6n, 5n]);
  });

  it("call C functions with the stack aligned, whatever the frame is", () => {
    const body = (locals: number) => {
      const params = Array.from(
        { length: locals },
        (_, i) => `(local.set ${i} (call $sum (i64.const ${i})
        (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5)))`,
      ).join("\n");
      const sum = Array.from({ length: locals }, (_, i) => `(i64.add (local.get ${i}))`).join(" ");
      return `(func (export "f${locals}") (result i64) (local ${"i64 ".repeat(locals)}) ${params}
        (i64.const 0) (call $alignment) (i64.mul (i64.const 1000)) (i64.add) ${sum})`;
    };
    const module = `(module
      (import "native" "stack_alignment" (func $alignment (result i64)))
      (import "native" "argument_sum" (func $sum (param i64 i64 i64 i64 i64 i64) (result i64)))
      ${[1, 2, 3, 6, 7, 12].map(body).join("\n")})`;
    const sums = [1, 2, 3, 6, 7, 12].map((n) => BigInt(n * 15 + (n * (n - 1)) / 2));
    expect(run(module, [["f1"], ["f2"], ["f3"], ["f6"], ["f7"], ["f12"]])).toEqual(sums);
  });

  it("know the frame that an exported function was called with", () => {
    const module = `(module
      (import "native" "returnAddress" (func $return (result i64)))
      (import "native" "stackPointer" (func $stack (result i64)))
      (import "native" "framePointer" (func $frame (result i64)))
      (import "native" "load64" (func $load64 (param i64) (result i64)))
      (import "native" "syscall0" (func $getpid (param i64) (result i64)))
      (func $busy (param i64) (result i64) (i64.add (local.get 0) (call $getpid (i64.const 39))))
      (func (export "frame") (result i64) (call $frame))
      (func (export "frameOfBusy") (result i64) (local $a i64) (local $b i64) (local $c i64)
        (local.set $a (call $busy (i64.const 1))) (local.set $b (call $busy (i64.const 2)))
        (local.set $c (call $busy (i64.const 3)))
        (drop (call $busy (local.get $a))) (drop (call $busy (i64.add (local.get $b) (local.get $c))))
        (drop (call $busy (i64.add (local.get $a) (i64.add (local.get $b) (local.get $c)))))
        (call $frame))
      (func (export "return") (result i32)
        (i64.eq (call $return) (call $load64 (call $stack)))))`;
    // The host's value of rbp.
    expect(run(module, [["frame"], ["frameOfBusy"], ["return"]])).toEqual([0x1234568n, 0x1234568n, 1n]);
    const inner = `(module (import "native" "returnAddress" (func $return (result i64)))
      (func $inner (result i64) (call $return)) (func (export "f") (result i64) (call $inner)))`;
    expect(() => compile(wat(inner))).toThrow(/only exported functions/);
  });

  it("have linear memory opened by the first exported function that is called, its arguments kept", () => {
    const module = `(module (memory 1)
      (import "native" "memorySlot" (func $slot (result i64)))
      (import "native" "store64" (func $store64 (param i64 i64)))
      (import "native" "load64" (func $load64 (param i64) (result i64)))
      (import "native" "syscall6" (func $mmap (param i64 i64 i64 i64 i64 i64 i64) (result i64)))
      (func (export "memory_open")
        (call $store64 (call $slot) (call $mmap (i64.const 9) (i64.const 0) (i64.const 65536) (i64.const 3)
          (i64.const 0x22) (i64.const -1) (i64.const 0))))
      (func (export "close") (call $store64 (call $slot) (i64.const 0)))
      (func (export "six") (param i64 i64 i64 i64 i64 i64) (result i64)
        (i64.store (i32.const 8) (i64.add (local.get 0) (i64.mul (local.get 1) (i64.const 10))))
        (i64.add (i64.load (i32.const 8)) (i64.add (i64.mul (local.get 2) (i64.const 100))
          (i64.add (i64.mul (local.get 3) (i64.const 1000))
            (i64.add (i64.mul (local.get 4) (i64.const 10000)) (i64.mul (local.get 5) (i64.const 100000))))))))`
      .replace("(memory 1)\n", "")
      .replace("(func (export", "(memory 1) (func (export");
    const calls = [["close"], ["six", 1n, 2n, 3n, 4n, 5n, 6n], ["six", 6n, 5n, 4n, 3n, 2n, 1n]] as const;
    expect(run(module, calls).slice(1)).toEqual([654321n, 123456n]);
  });
});
