import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openObject } from "../../../src/code/objects/index.ts";
import { UnwindTable } from "../../../src/code/unwind/index.ts";
import { compareWithObjdump } from "./support/compare-with-objdump.ts";

const installed = spawnSync("objdump", ["--version"]).status === 0;
if (!installed) console.warn("SKIPPED: objdump is not installed, no decoded instruction is compared with it");

const LIBRARIES = "/usr/lib/x86_64-linux-gnu";
/** A C library, hand-written code with tables in it, and AVX2 and AVX-512. */
const FILES = [`${LIBRARIES}/libc.so.6`, `${LIBRARIES}/libcrypto.so.3`, `${LIBRARIES}/libx264.so.164`];

describe.skipIf(!installed)("the functions of a file decode as objdump prints them", () => {
  for (const file of FILES) {
    const present = existsSync(file);
    if (!present) console.warn(`SKIPPED: ${file} is not installed, its code is not compared with objdump`);
    it.skipIf(!present)(`lengths, targets and places of ${file.split("/").at(-1)}`, async () => {
      const table = UnwindTable.fromObject(openObject(readFileSync(file)));
      const { instructions, differences } = await compareWithObjdump(file, (at) => table.find(at) !== 0);
      expect(instructions).toBeGreaterThan(100_000);
      expect(differences).toEqual([]);
    });
  }
});
