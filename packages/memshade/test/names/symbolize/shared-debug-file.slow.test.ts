import { rmSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { loadSymbolizer } from "../../../src/names/load/symbolizer.ts";
import { codeAddresses, isInstalled, sh, temporaryFolder } from "./support.ts";

const canBuild = isInstalled("dwz", "g++");
if (!canBuild) console.warn("SKIPPED: dwz or g++ is missing, shared debug files are not read");

afterAll(() => rmSync(temporaryFolder(), { recursive: true, force: true }));

describe.skipIf(!canBuild)("debug information that dwz moved into a file of several programs", () => {
  it.each(["-gdwarf-4", "-gdwarf-5"])("gives the answers from before, %s", (version) => {
    sh(`g++ ${version} -O2 $P/cart.cpp -o whole && g++ ${version} -O1 $P/cart.cpp -o other`);
    sh("cp whole one && cp other two && rm -f shared.debug && dwz -m shared.debug one two");
    const at = (name: string) => path.join(temporaryFolder(), name);
    const before = loadSymbolizer(at("whole"));
    const after = loadSymbolizer(at("one"));
    expect(after.symbolizer.object.debugAltLink?.name).toContain("shared.debug");
    const addresses = codeAddresses(at("whole"), 23);
    expect(addresses.map(after.frames)).toEqual(addresses.map(before.frames));
    expect(after.symbolizer.problems).toEqual([]);
    expect(after.missing).toEqual([]);
  });

  it("says which file is missing", () => {
    sh("rm shared.debug");
    const { frames, missing } = loadSymbolizer(path.join(temporaryFolder(), "one"));
    expect(frames(0x1200).length).toBeGreaterThan(0);
    expect(missing.join()).toContain("shared.debug");
  });
});
