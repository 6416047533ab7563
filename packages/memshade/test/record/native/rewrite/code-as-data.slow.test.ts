import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openObject } from "../../../../src/code/objects/index.ts";
import { Code } from "../../../../src/record/native/rewrite/code.ts";
import { functionsThatAreData } from "../../../../src/record/native/rewrite/code-as-data.ts";
import { canCompile } from "../support/record.ts";

describe.skipIf(!canCompile)("functions that are data", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-data-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  function namesIn(source: string): string[] {
    const library = join(folder, "library.so");
    const { status, stderr } = spawnSync(
      "gcc",
      ["-xc", "-", "-O2", "-fno-toplevel-reorder", "-shared", "-fPIC", "-nostdlib", "-o", library],
      { input: source, encoding: "utf8" },
    );
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const object = openObject(readFileSync(library));
    const found = functionsThatAreData(new Code(object), object);
    return [...found].map((address) => object.symbolAt(address)!.name).sort();
  }

  const callerOf = (first: string): string => `
    __asm__("callee: .cfi_startproc\\n ${first}\\n jmp *%rax\\n .cfi_endproc\\n");
    __attribute__((noinline)) void caller(void) { __asm__ volatile("call callee\\n nop" ::: "memory", "rax"); }`;

  it("are those that call what pops its return address", () => {
    expect(namesIn(callerOf("popq %rax\\n addq $4, %rax"))).toEqual(["caller"]);
  });

  it.each([
    "lock addl $0, (%rsp)\\n call other",
    "addsd %xmm1, %xmm0\\n mulsd (%rdi), %xmm0\\n call other",
    "sqrtsd %xmm0, %xmm0\\n mulsd %xmm1, %xmm0\\n subsd %xmm1, %xmm0\\n maxsd %xmm1, %xmm0\\n call other",
    "xorps %xmm1, %xmm1\\n divsd %xmm1, %xmm0\\n mulsd %xmm1, %xmm0\\n addsd %xmm1, %xmm0\\n call other",
  ])("are not those that call what begins with a fence or vector instructions (%s)", (first) => {
    expect(namesIn(`__asm__("other: ret\\n");${callerOf(first)}`)).toEqual([]);
  });

  const FUNCTIONS = `
    #define IN_LINE __attribute__((aligned(64)))
    IN_LINE int one(int x) { return x + 1; }
    IN_LINE int two(int x) { return x * x; }
    IN_LINE int other(int x) { return x - 1; }
    int beside(int x) { return x - 2; }
    static const struct { const char *name; int (*function)(int); } table[] = {{"one", one}, {"two", two}};`;

  it("are those of a table whose bytes are read", () => {
    const read = "IN_LINE int sum(int i) { return *(const unsigned char *)table[i].function; }";
    expect(namesIn(FUNCTIONS + read)).toEqual(["one", "two"]);
  });

  it("are not those of a table that are called, or whose names are read", () => {
    const used = "IN_LINE int use(int i) { return table[i].function(i) + *table[i].name; }";
    expect(namesIn(FUNCTIONS + used)).toEqual([]);
  });

  it("are those in the same lines, which would be taken for read", () => {
    const read = "IN_LINE int first(void) { return *(const unsigned char *)other; }";
    expect(namesIn(FUNCTIONS + read)).toEqual(["beside", "other"]);
  });

  it("are those whose bytes are given to the system, by its number", () => {
    const write = `IN_LINE long print(void) {
      long result;
      __asm__ volatile("syscall" : "=a"(result) : "a"(1), "D"(1), "S"(two), "d"(16) : "rcx", "r11", "memory");
      return result;
    }`;
    expect(namesIn(FUNCTIONS + write)).toEqual(["two"]);
  });
});
