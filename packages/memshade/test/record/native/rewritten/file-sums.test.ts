import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FileSums } from "../../../../src/record/native/rewritten/file-sums.ts";

const KEPT = "file-sums.json";
const MINUTE_MS = 60_000;

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

describe("sums of files", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "file-sums-"));
    path = join(folder, "library");
    writeFileSync(path, "one");
    // Sets the clock of this process forward.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + MINUTE_MS });
  });
  afterEach(() => {
    vi.useRealTimers();
    rmSync(folder, { recursive: true });
  });

  function sumInNextRun(): string {
    const sums = new FileSums(folder);
    const sum = sums.sumOf(path);
    sums.keep();
    return sum;
  }

  /** Replaces the stored sum by another one, so that the test can see if it is used. */
  function mark(): void {
    const kept = readFileSync(join(folder, KEPT), "utf8");
    writeFileSync(join(folder, KEPT), kept.replaceAll(sha256("one"), "remembered"));
  }

  test("a file that nobody has changed is read once", () => {
    expect(sumInNextRun()).toBe(sha256("one"));
    mark();
    expect(sumInNextRun()).toBe("remembered");
  });

  test("another content is seen, of the same size and with the time of the last one", () => {
    sumInNextRun();
    const { atime, mtime } = statSync(path);
    writeFileSync(path, "two");
    utimesSync(path, atime, mtime);
    expect(sumInNextRun()).toBe(sha256("two"));
  });

  test("a file in the place of another one is another one", () => {
    sumInNextRun();
    rmSync(path);
    writeFileSync(path, "six");
    expect(sumInNextRun()).toBe(sha256("six"));
  });

  test("what was changed just now is not remembered: it may change again at the same time", () => {
    vi.useRealTimers();
    expect(sumInNextRun()).toBe(sha256("one"));
    expect(existsSync(join(folder, KEPT))).toBe(false);
  });

  test("another start of the system has all files read again", () => {
    sumInNextRun();
    mark();
    const kept = JSON.parse(readFileSync(join(folder, KEPT), "utf8"));
    writeFileSync(join(folder, KEPT), JSON.stringify({ ...kept, boot: "another" }));
    expect(sumInNextRun()).toBe(sha256("one"));
  });

  test.each(["", "{", "[]", '{"boot":1,"sums":2}', "null"])("a damaged memory is none: %s", (text) => {
    writeFileSync(join(folder, KEPT), text);
    expect(sumInNextRun()).toBe(sha256("one"));
    mark();
    expect(sumInNextRun()).toBe("remembered");
  });

  test("where nothing can be kept, files are read each time", () => {
    const sums = new FileSums(join(folder, "nowhere"));
    expect(sums.sumOf(path)).toBe(sha256("one"));
    sums.keep();
  });

  test("a file that is not there is the system's error", () => {
    expect(() => new FileSums(folder).sumOf(join(folder, "none"))).toThrow(/ENOENT/);
  });
});
