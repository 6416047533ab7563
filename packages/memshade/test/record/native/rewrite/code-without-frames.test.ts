import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openObject } from "../../../../src/code/objects/index.ts";
import { Stubs } from "../../../../src/record/native/rewrite/code.ts";
import { bytesWithoutFrames } from "../../../../src/record/native/rewrite/rewrite-file.ts";
import { canCompile } from "../support/record.ts";

describe.skipIf(!canCompile)("code that .eh_frame does not have", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-bare-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function bytesOf(source: string, ...options: readonly string[]): number {
    const path = join(folder, "program");
    const made = spawnSync("gcc", ["-O1", "-x", "c", "-", "-o", path, ...options], {
      input: source,
      encoding: "utf8",
    });
    if (made.status !== 0) throw new Error(made.stderr);
    const object = openObject(readFileSync(path));
    return bytesWithoutFrames(object, new Stubs(object, 0), 0);
  }
  const MAIN = '#include <stdio.h>\nint main(void) { puts(""); return 0; }\n';

  it("is nothing in a program as compilers make them, stubs and what it starts with included", () => {
    expect(bytesOf(MAIN)).toBe(0);
    expect(bytesOf(MAIN, "-s")).toBe(0);
    expect(bytesOf(MAIN, "-no-pie", "-fcf-protection=full")).toBe(0);
  });

  it("is each function of assembler that has a name, and long ones without", () => {
    const short = `${MAIN}__asm__(".text; bare: incl (%rdi); ret; .balign 16");`;
    const long = `${MAIN}__asm__(".text; bare: .rept 400; incl (%rdi); .endr; ret");`;
    expect(bytesOf(short)).toBeGreaterThan(2);
    expect(bytesOf(short, "-s")).toBe(0);
    expect(bytesOf(long, "-s")).toBeGreaterThan(800);
  });

  it("is all code of a program without frames", () => {
    expect(bytesOf(MAIN, "-fno-asynchronous-unwind-tables")).toBeGreaterThan(20);
  });
});
