import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { executedProgram } from "../../../../src/record/native/start/start-program.ts";

const folder = mkdtempSync(join(tmpdir(), "memshade-programs-"));
afterAll(() => rmSync(folder, { recursive: true }));

function script(name: string, text: string, mode = 0o755): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

describe("what runs when a command is started", () => {
  it("is the program of that name in PATH, which sees the name as it was typed", () => {
    expect(executedProgram("sh", ["-c", "true"])).toEqual({
      file: expect.stringMatching(/\/sh$/),
      argv: ["sh", "-c", "true"],
    });
  });

  it("is the interpreter of a script, with the rest of the first line as one argument", () => {
    const file = script("two-words", "#!/bin/sh -e -u\necho\n");
    expect(executedProgram(file, ["a"])).toEqual({ file: "/bin/sh", argv: ["/bin/sh", "-e -u", file, "a"] });
  });

  it("is what env would become, and not env", () => {
    const plain = script("by-env", "#!/usr/bin/env sh\n");
    expect(executedProgram(plain, ["a"]).argv).toEqual(["sh", plain, "a"]);
    const split = script("by-env-s", "#!/usr/bin/env -S sh -e -u\n");
    expect(executedProgram(split, []).argv).toEqual(["sh", "-e", "-u", split]);
  });

  it("is the interpreter's interpreter where that is a script again", () => {
    const inner = script("inner", "#!/bin/sh\n");
    const outer = script("outer", `#!${inner} -x\n`);
    expect(executedProgram(outer, ["a"]).argv).toEqual(["/bin/sh", inner, "-x", outer, "a"]);
  });
});

describe("what cannot be started", () => {
  const saying = (name: string) => {
    try {
      return executedProgram(name, []);
    } catch (error) {
      return (error as Error).message;
    }
  };

  it("is told of in one line each", () => {
    const locked = script("locked", "#!/bin/sh\n", 0o644);
    const nobody = script("nobody", "#!\n");
    const lost = script("lost", "#!/no/such/interpreter\n");
    const itself = script("itself", `#!${join(folder, "itself")}\n`);
    const setUp = script("set-up", "#!/usr/bin/env LANG=C sh\n");
    expect(saying("no-such-program-anywhere")).toMatch(/there is no such file, and no program of that name/);
    expect(saying(folder)).toMatch(/it is a folder/);
    expect(saying("./no-such-file")).toMatch(/no such file/);
    expect(saying(locked)).toMatch(/may not be executed/);
    expect(saying(nobody)).toMatch(/names no interpreter/);
    expect(saying(lost)).toBe(`${lost}: its interpreter /no/such/interpreter: no such file`);
    expect(saying(itself)).toMatch(/name each other/);
    expect(saying(setUp)).toMatch(/put the interpreter before the script/);
  });
});
