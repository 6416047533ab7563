import { describe, expect, it } from "vitest";
import { joinPieces } from "../../../../src/ground/bytes/file-piece.ts";
import { writeIndexed } from "../../../../src/profile/formats/memprof-indexed/index.ts";
import { indexedProfileText } from "../../../../src/profile/formats/memprof-text/index.ts";
import { readMemprofYaml } from "../../../../src/profile/formats/memprof-text/read-yaml.ts";
import { HOT_COLD_FIELDS } from "../../../../src/profile/model/memprof/index.ts";

function readBack(lineOffset: string, column: string, inline: string, count = "1"): string {
  const yaml = `---
HeapProfileRecords:
  - GUID: 0x1
    AllocSites:
      - Callstack:
          - { Function: 0x100, LineOffset: ${lineOffset}, Column: ${column}, IsInlineFrame: ${inline} }
        MemInfoBlock:
          AllocCount: ${count}
    CallSites: []
...
`;
  const text = [...indexedProfileText(readMemprofYaml(new TextEncoder().encode(yaml)))].join("");
  const frame = /LineOffset: (\d+), Column: (\d+), IsInlineFrame: (\w+)/.exec(text)!;
  return [...frame.slice(1), /AllocCount: +(\d+)/.exec(text)![1]].join(" ");
}

describe("YAML of MemProf is read as LLVM reads it", () => {
  it.each([
    ["010", "0o17", "true", "017", "8 15 true 15"],
    ["0b11", "0x1F", "false", "0", "3 31 false 0"],
    ["0o7", "00", "false", "0B1", "7 0 false 1"],
  ])("in numbers: %s %s %s %s", (line, column, inline, count, read) => {
    expect(readBack(line, column, inline, count)).toBe(read);
  });

  it.each(["true", "True", "TRUE", "yes", "Yes", "YES", "y", "Y", "on", "On", "ON"])("in %s", (word) => {
    expect(readBack("1", "2", word)).toBe("1 2 true 1");
  });

  it.each(["false", "no", "No", "NO", "n", "N", "off", "OFF"])("in %s", (word) => {
    expect(readBack("1", "2", word)).toBe("1 2 false 1");
  });

  it.each([
    ["08", "1", "true"],
    ["1", "0o9", "true"],
    ["1", "1", "tRue"],
    ["1", "1", "1"],
    ["0O7", "1", "true"],
  ])("and refuses what LLVM refuses: %s %s %s", (line, column, inline) => {
    expect(() => readBack(line, column, inline)).toThrow(/is not a number|neither true nor false/);
  });
});

it.each(["0xg", "0x1_2", "0x"])("a GUID %s is no name of a function", (guid) => {
  const yaml = `---\nHeapProfileRecords:\n  - GUID: ${guid}\n    AllocSites: []\n    CallSites: []\n...\n`;
  expect(() => readMemprofYaml(new TextEncoder().encode(yaml))).toThrow(/is not a number/);
});

it("of several records of a function the first one counts, and the stacks of all are written as LLVM writes them", () => {
  const record = (inner: string) => `  - GUID: A
    AllocSites:
      - Callstack:
          - { Function: ${inner}, LineOffset: 1, Column: 10, IsInlineFrame: false }
          - { Function: main, LineOffset: 6, Column: 13, IsInlineFrame: false }
        MemInfoBlock:
          AllocCount: 1
          TotalSize: 100
          TotalLifetime: 200000
          TotalLifetimeAccessDensity: 0
    CallSites: []
`;
  const read = (records: string) =>
    readMemprofYaml(new TextEncoder().encode(`---\nHeapProfileRecords:\n${records}...\n`));
  const [both, one] = [read(record("A") + record("B")), read(record("A"))];
  expect([...indexedProfileText(both)]).toEqual([...indexedProfileText(one)]);
  // Files as llvm-profdata 22 writes them.
  const sizes = ([2, 3, 4] as const).map((version) => {
    const options = { version, container: 13, schema: HOT_COLD_FIELDS, order: "inserted" } as const;
    return joinPieces(writeIndexed(both, options)).length;
  });
  expect(sizes).toEqual([1112, 816, 880]);
});
