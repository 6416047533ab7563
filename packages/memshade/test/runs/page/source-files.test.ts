import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sourceFiles } from "../../../src/runs/page/source-files.ts";

const folder = mkdtempSync(join(tmpdir(), "memshade-sources-"));
const here = join(folder, "project");
const module = join(folder, "built/app.wasm");
beforeAll(() => {
  for (const path of ["project/src", "project/.git", "built/lib", "elsewhere"])
    mkdirSync(join(folder, path), { recursive: true });
  const files = ["project/src/app.c", "project/.git/hook.c", "project/.env", "project/notes.txt"];
  for (const path of [...files, "built/shop.c", "built/lib/part.c", "elsewhere/secret.c"])
    writeFileSync(join(folder, path), `of ${path}\n`);
  symlinkSync(join(folder, "elsewhere/secret.c"), join(here, "src/link.c"));
  vi.spyOn(process, "cwd").mockReturnValue(here);
});
afterAll(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const firstLine = (file: string, read = sourceFiles([], undefined)) => read(file, module)?.lines[0];

describe("the source files that a page may carry", () => {
  it("lie below the working directory, or beside and below the module", () => {
    expect(firstLine("src/app.c")).toBe("of project/src/app.c");
    expect(firstLine(join(here, "src/app.c"))).toBe("of project/src/app.c");
    expect(firstLine("./shop.c")).toBe("of built/shop.c");
    expect(firstLine("/home/somebody/shop.c")).toBe("of built/shop.c");
    expect(firstLine("lib/part.c")).toBe("of built/lib/part.c");
    expect(firstLine("missing.c")).toBeUndefined();
  });

  it("lie there with as much of their path as they have, wherever they were built", () => {
    for (const file of [
      "/home/somebody/build/lib/part.c",
      "C:\\work\\built\\lib\\part.c",
      "lib\\part.c",
      "./../lib/part.c",
      "/proc/self/cwd/lib/part.c",
      "file:///somewhere/lib/part.c",
      "webpack://app/./lib/part.c",
    ])
      expect(firstLine(file), file).toBe("of built/lib/part.c");
    expect(firstLine("/home/somebody/src/app.c")).toBe("of project/src/app.c");
    // A bare file name is looked up next to the module, not below the working directory.
    expect(firstLine("/home/somebody/lib/shop.c")).toBe("of built/shop.c");
    expect(firstLine("/home/somebody/app.c")).toBeUndefined();
  });

  it("do not lie elsewhere, whatever way a module names", () => {
    expect(firstLine(join(folder, "elsewhere/secret.c"))).toBeUndefined();
    expect(firstLine("../elsewhere/secret.c")).toBeUndefined();
    expect(firstLine("src/../../elsewhere/secret.c")).toBeUndefined();
    expect(firstLine("src/link.c")).toBeUndefined();
  });

  it("are no hidden ones, and no others than source", () => {
    expect(firstLine(".env")).toBeUndefined();
    expect(firstLine(".git/hook.c")).toBeUndefined();
    expect(firstLine("notes.txt")).toBeUndefined();
    expect(firstLine("src")).toBeUndefined();
  });

  it("lie where --path-map says, too", () => {
    const read = sourceFiles([{ from: "/build", to: join(folder, "elsewhere") }], undefined);
    expect(firstLine("/build/secret.c", read)).toBe("of elsewhere/secret.c");
    expect(firstLine("/build/../built/shop.c", read)).toBe("of built/shop.c");
  });

  it("lie beside the module that --binary-path names, too", () => {
    const named = join(folder, "elsewhere");
    expect(sourceFiles([], undefined, [named])("/gone/secret.c", "/gone/app.wasm")?.lines[0]).toBe(
      "of elsewhere/secret.c",
    );
    expect(sourceFiles([], undefined)("/gone/secret.c", "/gone/app.wasm")).toBeUndefined();
  });

  it("tell when they are newer than the run", () => {
    const recordedAt = Date.now() - 60_000;
    expect(sourceFiles([], recordedAt)("src/app.c", module)).toMatchObject({ isNewer: true });
    utimesSync(join(here, "src/app.c"), 1, 1);
    expect(sourceFiles([], recordedAt)("src/app.c", module)?.isNewer).toBeUndefined();
  });
});
