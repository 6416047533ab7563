import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UserError } from "../../../src/bytes/errors.ts";
import {
  assertFolderWritable,
  defaultOutTemplate,
  dumpTemplate,
  expandOutTemplate,
  programName,
  RunFolders,
  writeRunFolder,
} from "../../../src/host/run/run-folder.ts";

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
    const plain = new RunFolders("r", {});
    expect([plain.next(true), plain.next(true), plain.next(false)]).toEqual(["r.dump1", "r.dump2", "r"]);
    const numbered = new RunFolders("r%n", {});
    expect([numbered.next(true), numbered.next(true), numbered.next(false)]).toEqual(["r1", "r2", "r3"]);
  });

  it("is made of the program's name by default", () => {
    expect(programName("/a/b/app.min.js")).toBe("app.min");
    expect(programName(".hidden")).toBe(".hidden");
    expect(expandOutTemplate(defaultOutTemplate("/50%", "a%p"), values)).toBe("/50%/memshade.out/a%p.42");
  });
});

describe("the files of a run", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "memshade-folder-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const files = [
    { name: "heap.memprofraw", contents: Uint8Array.of(1, 2, 3) },
    { name: "run.json", contents: "{}" },
  ];
  /** A file that cannot be written: its name leads into a folder that is not there. */
  const impossible = { name: "missing/file", contents: "" };

  it("appear in a new folder, with the folders above it", () => {
    const folder = join(home, "a", "b");
    writeRunFolder(folder, files);
    expect(readdirSync(join(home, "a"))).toEqual(["b"]);
    expect(readFileSync(join(folder, "heap.memprofraw"))).toEqual(Buffer.of(1, 2, 3));
  });

  it("replace those of an earlier run and leave others alone", () => {
    mkdirSync(join(home, "run"));
    writeFileSync(join(home, "run", "run.json"), "old");
    writeFileSync(join(home, "run", "notes.txt"), "mine");
    writeRunFolder(join(home, "run"), files);
    expect(readdirSync(join(home, "run")).sort()).toEqual(["heap.memprofraw", "notes.txt", "run.json"]);
    expect(readFileSync(join(home, "run", "run.json"), "utf8")).toBe("{}");
  });

  it("leave nothing behind when one of them cannot be written", () => {
    expect(() => writeRunFolder(join(home, "a", "b"), [...files, impossible])).toThrow();
    expect(readdirSync(home)).toEqual([]);
    mkdirSync(join(home, "run"));
    writeFileSync(join(home, "run", "run.json"), "old");
    expect(() => writeRunFolder(join(home, "run"), [...files, impossible])).toThrow();
    expect(readdirSync(join(home, "run"))).toEqual(["run.json"]);
    expect(readFileSync(join(home, "run", "run.json"), "utf8")).toBe("old");
  });

  it("are checked for beforehand, without a trace", () => {
    assertFolderWritable(join(home, "a", "b"));
    expect(readdirSync(home)).toEqual([]);
    writeFileSync(join(home, "file"), "");
    expect(() => assertFolderWritable(join(home, "file"))).toThrow(/file is not a folder$/);
    expect(() => assertFolderWritable(join(home, "file", "below"))).toThrow(UserError);
  });
});
