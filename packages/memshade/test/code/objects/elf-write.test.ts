import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { PF_R, PF_W, PF_X, writeElfImage } from "../../../src/code/objects/elf/write/image.ts";
import { openObject } from "../../../src/code/objects/index.ts";

const folder = mkdtempSync(join(tmpdir(), "memshade-elf-"));
afterAll(() => rmSync(folder, { recursive: true }));
const hasReadelf = spawnSync("readelf", ["--version"]).status === 0;
if (!hasReadelf) console.warn("SKIPPED: readelf is not installed");

const image = writeElfImage({
  type: 2,
  entry: 0x401010,
  segments: [
    { flags: PF_R | PF_X, address: 0x401010, bytes: Uint8Array.of(0xc3) },
    { flags: PF_R | PF_W, address: 0x500000, bytes: Uint8Array.of(1, 2), memoryBytes: 0x3000 },
  ],
});

describe("an ELF file that is written", () => {
  it("is what the reader of such files reads", () => {
    expect(openObject(image)).toMatchObject({ kind: "elf", problems: [] });
  });

  it.skipIf(!hasReadelf)("is what readelf has nothing to say about", () => {
    const file = join(folder, "image");
    writeFileSync(file, image);
    const { stdout, stderr } = spawnSync("readelf", ["-hlW", file], { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(stdout).toContain("Entry point address:               0x401010");
    const loads = stdout.split("\n").filter((line) => line.includes("LOAD"));
    expect(loads.map((line) => line.trim().replaceAll(/\s+/g, " "))).toEqual([
      "LOAD 0x001010 0x0000000000401010 0x0000000000401010 0x000001 0x000001 R E 0x1000",
      "LOAD 0x002000 0x0000000000500000 0x0000000000500000 0x000002 0x003000 RW 0x1000",
    ]);
  });
});
