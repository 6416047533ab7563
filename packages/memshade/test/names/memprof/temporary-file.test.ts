import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { UserError } from "../../../src/ground/bytes/errors.ts";
import { TemporaryFile } from "../../../src/names/memprof/temporary-file.ts";

const folder = mkdtempSync(join(tmpdir(), "memshade-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("a temporary file", () => {
  it("gives back what was written, and leaves nothing", () => {
    const file = new TemporaryFile(join(folder, "out"));
    file.append(Uint8Array.of(1, 2, 3));
    file.append(Uint8Array.of(4));
    const part = new Uint8Array(2);
    file.read(2, part);
    expect([file.size, ...part]).toEqual([4, 3, 4]);
    expect(() => file.read(3, part)).toThrow(UserError);
    file.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("beside a device lies where temporary files do", () => {
    const file = new TemporaryFile("/dev/null");
    file.append(Uint8Array.of(1));
    expect(file.size).toBe(1);
    file.release();
  });

  it("that cannot be made is a mistake of the user", () => {
    expect(() => new TemporaryFile(join(folder, "nowhere", "out"))).toThrow(/^cannot write .*no such/i);
  });
});
