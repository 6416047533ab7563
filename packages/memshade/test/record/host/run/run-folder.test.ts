import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UserError } from "../../../../src/ground/bytes/errors.ts";
import {
  defaultOutTemplate,
  dumpTemplate,
  expandOutTemplate,
  hasPlaceHolder,
  programName,
  RunFolders,
} from "../../../../src/record/host/run/run-folder.ts";

const values = { pid: 42, sequence: 3, environment: { USER: "me", EMPTY: "" } };

describe("the template of a run folder", () => {
  it.each([
    ["out", "out"],
    ["out/%p", "out/42"],
    ["%q{USER}/%p.%n", "me/42.3"],
    ["%q{EMPTY}x", "x"],
    ["100%%", "100%"],
    ["%%p", "%p"],
    ["%%%p", "%42"],
  ])("%s becomes %s", (template, expected) => {
    expect(expandOutTemplate(template, values)).toBe(expected);
  });

  it.each(["%x", "%", "a%", "%q", "%q{", "%q{NOBODY}", "", "%q{EMPTY}"])(
    "%s is a mistake of the user",
    (template) => {
      expect(() => expandOutTemplate(template, values)).toThrow(UserError);
    },
  );

  it("keeps any name that is escaped", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (name) => {
        expect(expandOutTemplate(name.replaceAll("%", "%%"), values)).toBe(name);
      }),
    );
  });

  it("gives dumps a folder of their own, unless it numbers its folders itself", () => {
    expect(dumpTemplate("out.%p")).toBe("out.%p.dump%n");
    expect(dumpTemplate("out.%n")).toBe("out.%n");
    expect(dumpTemplate("out.%%n")).toBe("out.%%n.dump%n");
  });

  it("counts the folders of a process", () => {
    const plain = new RunFolders("r", false, {});
    expect([plain.next(true), plain.next(true), plain.next(false)]).toEqual(["r.dump1", "r.dump2", "r"]);
    const numbered = new RunFolders("r%n", false, {});
    expect([numbered.next(true), numbered.next(true), numbered.next(false)]).toEqual(["r1", "r2", "r3"]);
  });

  it("leaves what has the name of an earlier process with the same id, where nobody chose the name", () => {
    const home = mkdtempSync(join(tmpdir(), "memshade-folder-"));
    const template = `${home}/app.%p`;
    mkdirSync(`${home}/app.${process.pid}`);
    mkdirSync(`${home}/app.${process.pid}.dump1`);
    const next = (keepsEarlier: boolean, dump: boolean) =>
      new RunFolders(template, keepsEarlier, {}).next(dump);
    expect(next(true, false)).toBe(`${home}/app.${process.pid}.2`);
    expect(next(true, true)).toBe(`${home}/app.${process.pid}.dump1.2`);
    expect(next(false, false)).toBe(`${home}/app.${process.pid}`);
    rmSync(home, { recursive: true });
  });

  it("knows its place holders from signs that are escaped", () => {
    expect(["%p", "a%p", "%%%p", "%q{X}%p", "%n"].map((text) => hasPlaceHolder(text, "p"))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    expect(["p", "%%p", "a%%%%p", ""].map((text) => hasPlaceHolder(text, "p"))).toEqual(Array(4).fill(false));
  });

  it("is made of the program's name by default", () => {
    expect(programName("/a/b/app.min.js")).toBe("app.min");
    expect(programName(".hidden")).toBe(".hidden");
    expect(expandOutTemplate(defaultOutTemplate("/50%", "a%p"), values)).toBe("/50%/memshade.out/a%p.42");
  });
});
