import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, symlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { MemoryFile } from "../../../../src/record/native/collect/memory-file.ts";
import { HEADER_MAGIC, HEADER_VERSION, Header } from "../../../../src/record/native/layout.ts";
import { descriptorsOf } from "../../../support/open-files.ts";

const [MEMORY_AT, MEMORY_BYTES] = [0x1_0000, 2 ** 32];

describe("the memory of a process", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-memory-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  const path = join(folder, "heap.1");

  function makeMemory(version = HEADER_VERSION): void {
    const file = openSync(path, "w+");
    ftruncateSync(file, MEMORY_AT + MEMORY_BYTES);
    for (const [field, value] of [
      [Header.magic, HEADER_MAGIC],
      [Header.version, version],
    ])
      writeSync(file, Uint32Array.of(value), 0, 4, MEMORY_AT + field);
    closeSync(file);
  }

  it("is read while the process runs, and is left alone by whoever reads it when the process has ended", async () => {
    makeMemory();
    const memory = MemoryFile.open(path)!;
    expect((await memory.readStill())!.byteLength).toBe(MEMORY_BYTES);
    const reading = memory.readStill();
    memory.close();
    expect(await reading).toBeUndefined();
    expect(await memory.readStill()).toBeUndefined();
  });

  it.runIf(process.platform === "linux")("does not stay open where it or its counters cannot be used", () => {
    makeMemory(HEADER_VERSION + 1);
    expect(() => MemoryFile.open(path)).toThrow("it is of another version");
    expect(descriptorsOf(path)).toEqual([]);
    makeMemory();
    symlinkSync("heap.1.counts", `${path}.counts`);
    expect(() => MemoryFile.open(path)).toThrow("ELOOP");
    expect(descriptorsOf(path)).toEqual([]);
  });
});
