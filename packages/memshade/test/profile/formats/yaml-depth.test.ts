import { describe, expect, it } from "vitest";
import { isTooDeep } from "../../../src/profile/formats/yaml-depth.ts";

describe("YAML", () => {
  it.each<[string, string]>([
    ["blocks", Array.from({ length: 200 }, (_, level) => `${" ".repeat(level)}a:\n`).join("")],
    ["entries of lists in one line", `${"- ".repeat(200)}a\n`],
    ["brackets", `a: ${"[".repeat(200)}`],
    ["brackets over several lines", "a:\n".padEnd(3 + 3 * 200, " {\n")],
  ])("that is nested too deeply by %s is known before it is read", (_, text) => {
    expect(isTooDeep(text)).toBe(true);
  });

  it("of the usual kinds is not", () => {
    const profile = `---\nHeapProfileRecords:\n${"  - GUID: 1\n    AllocSites:\n      - Callstack: [ { A: 1 }, { A: 2 } ]\n".repeat(500)}`;
    expect(isTooDeep(profile)).toBe(false);
    expect(isTooDeep(`limits:\n${"  - 'peak [[[ < 8 MiB'\n".repeat(500)}`)).toBe(false);
  });
});
