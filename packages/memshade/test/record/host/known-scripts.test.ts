import { mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { instrument, profile, watchInstance } from "../../../src/index.ts";
import { watchInstance as watchInstanceInNode } from "../../../src/record/host/node/loader.ts";
import { wat } from "../../support/assemble.ts";
import { BUMP } from "../../support/profiled.ts";

const MODULE = wat(`(module (memory 32 32) ${BUMP})`);
type Malloc = (size: number) => number;

/** Maps the script's only line to enter.ts:7. */
const MAP = { version: 3, sources: ["enter.ts"], names: [], mappings: "AAMA" };
const folder = mkdtempSync(join(tmpdir(), "memshade-test-"));
const script = join(folder, "enter.cjs");
writeFileSync(
  script,
  `exports.enter = function enter(call) { call(); };\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(MAP)).toString("base64")}\n`,
);
const { enter } = createRequire(import.meta.url)(script) as { enter(call: () => void): void };

const ENTERED = expect.objectContaining({
  name: "enter",
  file: script,
  line: 1,
  source: expect.objectContaining({ file: join(folder, "enter.ts"), line: 7 }),
});

describe("callers in scripts with source maps stand where they were written", () => {
  it("under profile()", async () => {
    const { run } = await profile(MODULE, async (instantiate) => {
      const malloc = (await instantiate()).exports.malloc as Malloc;
      enter(() => malloc(8));
    });
    expect(run.host!.frames).toContainEqual(ENTERED);
  });

  it.each([{ watchInstance }, { watchInstance: watchInstanceInNode }])(
    "with the loader in Node",
    async ({ watchInstance: watch }) => {
      const { bytes } = instrument(MODULE, { hostStacks: "exact" });
      const { instance } = await WebAssembly.instantiate(bytes as BufferSource);
      const watched = watch(instance, bytes, { original: MODULE });
      enter(() => (instance.exports.malloc as Malloc)(8));
      expect(watched.readProfile().run.host!.frames).toContainEqual(ENTERED);
    },
  );
});
