import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { SLOW_PATHS } from "../../../src/native/native-tool.ts";
import { loaderCopy, mappedRanges } from "../../../src/native/rewritten/loader-copy.ts";
import { REFUSED } from "../../../src/native/start/launcher.ts";

const LINKER = "/lib64/ld-linux-x86-64.so.2";
const isThere = process.platform === "linux" && process.arch === "x64" && existsSync(LINKER);
if (!isThere) console.warn("SKIPPED: there is no dynamic linker of glibc on x86-64 here");

const SHADOW = { address: 0x7fff8000, bytes: 2 ** 46 };

describe.skipIf(!isThere)("a copy of the dynamic linker", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-loader-"));
  const path = join(folder, "loader");
  const write = (tool: Parameters<typeof loaderCopy>[1]): void =>
    writeFileSync(path, loaderCopy(readFileSync(LINKER), tool), { mode: 0o755 });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("runs programs, with the ranges of a tool mapped at their addresses", () => {
    write({ shadows: [SHADOW], slowPaths: 3 });
    const { stdout, status } = spawnSync(path, ["/bin/cat", "/proc/self/maps"], { encoding: "utf8" });
    expect(status).toBe(0);
    expect(stdout).toContain("7ff00000-7ff01000 rw-p");
    expect(stdout).toContain("7fff8000-40007fff8000 rw-p");
  });

  it("does all else that the original does", () => {
    write({ shadows: [SHADOW], slowPaths: 0 });
    const list = (linker: string): string =>
      spawnSync(linker, ["--list", "/bin/cat"], { encoding: "utf8" }).stdout.replace(/\(0x\w+\)/g, "");
    const listed = list(path).replaceAll(path, LINKER);
    expect(listed).toContain("libc.so.6");
    expect(listed.split("\n")[0]).toBe(list(LINKER).split("\n")[0]);
  });

  it("ends a process that has no room for them, with a line", () => {
    write({ shadows: [SHADOW], slowPaths: 0 });
    const { stderr, status } = spawnSync("sh", ["-c", `ulimit -v 1000000; exec ${path} /bin/true`], {
      encoding: "utf8",
    });
    expect(status).toBe(REFUSED);
    expect(stderr).toMatch(/^memshade: what counts accesses finds no room .*ulimit -v.*\n$/);
  });

  it("is not made of one that begins otherwise", () => {
    const file = readFileSync(LINKER);
    const entry = Number(file.readBigUInt64LE(24));
    // jmp to itself: nothing that could stand elsewhere
    file.set([0xeb, 0xfe], entry);
    expect(() => loaderCopy(file, { shadows: [], slowPaths: 0 })).toThrow(/first instructions are not known/);
  });
});

describe("the ranges of a tool", () => {
  it("have a page for the words of its slow paths", () => {
    expect(mappedRanges({ shadows: [SHADOW], slowPaths: 0 })).toEqual([SHADOW]);
    expect(mappedRanges({ shadows: [], slowPaths: 1 })).toEqual([{ address: SLOW_PATHS, bytes: 4096 }]);
    expect(mappedRanges({ shadows: [], slowPaths: 513 })).toEqual([{ address: SLOW_PATHS, bytes: 8192 }]);
  });
});
