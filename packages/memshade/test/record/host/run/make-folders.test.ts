import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeFolders } from "../../../../src/record/host/run/make-folders.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "memshade-folders-"));
});
afterEach(() => rmSync(home, { recursive: true }));

describe("folders", () => {
  it("are made with those above them, and the topmost one that was missing is told", () => {
    expect(makeFolders(join(home, "a", "b", "c"))).toBe(join(home, "a"));
    expect(readdirSync(join(home, "a", "b"))).toEqual(["c"]);
    expect(makeFolders(join(home, "a", "d"))).toBe(join(home, "a", "d"));
    expect(makeFolders(join(home, "a", "b"))).toBeUndefined();
  });

  it("are not made in a file, nor in its place", () => {
    writeFileSync(join(home, "file"), "");
    expect(() => makeFolders(join(home, "file"))).toThrow(/EEXIST/);
    expect(() => makeFolders(join(home, "file", "below"))).toThrow(/EEXIST|ENOTDIR/);
    expect(readdirSync(home)).toEqual(["file"]);
  });

  it.skipIf(!existsSync("/proc/self"))("are not made in /proc, where that is an error as elsewhere", () => {
    expect(() => makeFolders("/proc/none/below")).toThrow(/ENOENT/);
  });
});
