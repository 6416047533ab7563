import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type RawProfile, writeRaw } from "../../../../src/profile/formats/memprof-raw/index.ts";
import { blockMib } from "../../../../src/profile/model/mib.ts";

const tool = "llvm-profdata-22";
const isInstalled = spawnSync(tool, ["--version"]).status === 0;
if (!isInstalled) console.warn(`SKIPPED: ${tool} is not installed, raw profiles are not checked against it`);

const block = {
  accessCount: 9n,
  size: 24,
  allocTimestamp: 0,
  deallocTimestamp: 3,
  allocCpuId: 0,
  deallocCpuId: 0,
};

const profile: RawProfile = {
  version: 4,
  segments: [
    { start: 0n, end: 0x5000n, offset: 0n, buildId: new Uint8Array(20).fill(0xaa) },
    {
      start: 1n << 32n,
      end: (1n << 32n) + 0x900n,
      offset: 1n << 32n,
      buildId: new Uint8Array(20).fill(0xbb),
    },
  ],
  contexts: [
    { stackId: 1n, mib: blockMib({ ...block, histogram: [1n, 8n, 0n] }), pcs: [0x123n, 0x456n] },
    { stackId: 2n, mib: blockMib(block), pcs: [(1n << 32n) + 5n, 0x456n] },
  ],
};

function show(bytes: Uint8Array): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "memshade-"));
  try {
    const file = path.join(directory, "x.memprofraw");
    fs.writeFileSync(file, bytes);
    return spawnSync(tool, ["show", "--memory", file], { encoding: "utf8" }).stderr.replaceAll(
      file,
      "<file>",
    );
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
}

describe.skipIf(!isInstalled)("llvm-profdata", () => {
  const needsBinary = `error: 
Path to profiled binary is empty, expected binary with one of the following build ids:

 BuildId: ${"aa".repeat(20)}
 BuildId: ${"bb".repeat(20)}
`;

  it.each([3, 4, 5] as const)(
    "takes version %d up to the missing ELF binary, naming the build ids",
    (version) => {
      expect(show(writeRaw(profile, version)).trim()).toBe(needsBinary.trim());
    },
  );

  it("takes several dumps in one file", () => {
    expect(show(Buffer.concat([writeRaw(profile), writeRaw(profile)])).trim()).toBe(needsBinary.trim());
  });

  it("would have said so if the sections did not add up", () => {
    expect(show(writeRaw(profile).slice(0, -8))).toContain("<file>\nmalformed instrumentation profile data");
  });
});
