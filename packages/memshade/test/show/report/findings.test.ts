import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FindingPlace } from "../../../src/explain/findings/finding-kind.ts";
import type { Finding } from "../../../src/explain/findings/index.ts";
import { findingInWords, printFindings } from "../../../src/show/report/findings.ts";
import { createPaint } from "../../../src/show/report/terminal/common/paint.ts";
import { Screen } from "../../../src/show/report/terminal/common/screen.ts";
import { expectFits } from "../../support/expect-fits.ts";

const PARSE: FindingPlace = {
  path: [{ function: "parse(char const*)", file: "/src/parse.c", line: 88 }, { function: "main" }],
  via: { function: "std::__1::string::assign(char const*)" },
};

function leak(place: FindingPlace, blocks = 300, allocated = blocks): Finding {
  return {
    kind: "leak",
    state: "live",
    behind: 0,
    tool: "heap",
    place,
    amount: 1_258_291,
    unit: "bytes",
    part: 0.5,
    blocks,
    allocated,
  };
}

function printed(findings: readonly Finding[], isWide = false): string {
  const screen = new Screen({ paint: createPaint(false), width: 80, isWide });
  printFindings(screen, findings);
  return screen.text();
}

describe("the lines of findings", () => {
  it("are kind, number, and a sentence with the program's own place", () => {
    const churn: Finding = {
      ...leak({ path: [{ function: "join", file: "join.c", line: 3 }] }),
      kind: "churn",
      amount: 20_000,
      unit: "blocks",
    } as Finding;
    expect(printed([leak(PARSE), churn])).toBe(`
Summary
  leak   1.20 MiB  300 blocks of parse (parse.c:88) are never released
    → Release the blocks where their owner ends: with free, a destructor,
      delete() or close().
  churn    20,000  blocks of join (join.c:3) are freed right away
    → Allocate one block before the loop and use it again, or use a variable on
      the stack.
`);
  });

  it("say how much to reserve where blocks grow, and how much is spare where they are too large", () => {
    const place = { path: [{ function: "load", file: "load.cc", line: 7 }] };
    const growth: Finding = {
      kind: "growth",
      tool: "heap",
      place,
      amount: 524_032,
      unit: "bytes",
      part: 0.2,
      chains: 1,
      copies: 11,
      reserve: 400_000,
      largestFinal: 524_288,
    };
    const spare: Finding = {
      kind: "over-capacity",
      tool: "heap",
      place,
      amount: 3_000_000,
      unit: "bytes",
      part: 0.2,
      blocks: 50,
      size: 65_536,
      used: 14,
    };
    expect(printed([growth, spare])).toBe(`
Summary
  growth          512 KiB  by load (load.cc:7) in 11 copies: reserve 391 KiB
    → Reserve the final size before filling, or grow by half or more at a time.
  over-capacity  2.86 MiB  of load (load.cc:7) is spare: 14 B of 64.0 KiB used
    → Allocate less, or shrink the block to the bytes in use.
`);
  });

  it("say how much to reserve where realloc finds room behind the block each time", () => {
    const place = { path: [{ function: "put", file: "page.c", line: 12 }] };
    const growth: Finding = {
      kind: "growth",
      tool: "heap",
      place,
      amount: 3_599,
      unit: "calls",
      part: 0.2,
      chains: 1,
      copies: 0,
      reserve: 3_600,
      largestFinal: 0,
      steps: 3_472,
    };
    expect(printed([growth])).toBe(`
Summary
  growth  3,599  reallocations by put (page.c:12) in steps: reserve 3.52 KiB
    → Reserve the final size before filling, or grow by half or more at a time.
`);
  });

  it("say through which library where there is room", () => {
    expect(printed([leak(PARSE, 3)])).toContain("parse (parse.c:88) via …assign are");
    expect(printed([leak(PARSE)], true)).toContain("parse (parse.c:88) via std::string::assign are");
  });

  it("leave out how many blocks there were in all before they shorten a name", () => {
    const long = { path: [{ function: "parse_settings", file: "parse.c", line: 88 }] };
    expect(printed([leak(long, 300, 1000)])).toContain("300 blocks of parse_settings (parse.c:88) are");
    expect(printed([leak({ path: [{ function: "f", file: "f.c", line: 1 }] }, 3, 10)])).toContain(
      "3 of 10 blocks of f (f.c:1) are",
    );
  });

  it("are as wide as a terminal at most, and always have file and line", () => {
    const name = fc
      .string({ minLength: 1, maxLength: 120, unit: "grapheme" })
      .map((text) => text.replace(/\s/g, "_"));
    fc.assert(
      fc.property(name, name, fc.nat(1e6), fc.nat(1e6), (own, called, blocks, more) => {
        const place = {
          path: [{ function: own, file: "parse.c", line: 88 }],
          via: { function: called },
        };
        const text = printed([leak(place, blocks, blocks + more)]);
        expect(text).toContain("(parse.c:88)");
        for (const line of text.split("\n")) expectFits(line);
      }),
    );
  });

  it("never cut file and line: the end of the sentence goes first", () => {
    const file = "repeated-concatenation.cc";
    const place = { path: [{ function: "all_words(Words const&)", file, line: 18 }] };
    const growth: Finding = {
      kind: "growth",
      tool: "heap",
      place,
      amount: 798_000,
      unit: "bytes",
      part: 0.2,
      chains: 10,
      copies: 3_990,
      reserve: 6_000,
      largestFinal: 6_000,
    };
    expect(printed([growth])).toContain(`by all_words (${file}:18)\n`);
    const longer = { path: [{ function: "f", file: `very-long-name-of-${file}`, line: 18 }] };
    expect(printed([{ ...growth, place: longer }])).toContain(
      "by f (very-long-name-of-repeated-concatenation.cc:18)\n",
    );
    expect(printed([leak(longer, 300, 1000)])).toContain(
      "of f (very-long-name-of-repeated-concatenation.cc:18)\n",
    );
  });

  it("have one that says that there are none", () => {
    expect(printed([])).toBe("\nNo findings\n");
  });

  it("are whole sentences elsewhere", () => {
    expect(findingInWords(leak(PARSE, 3, 10))).toBe(
      "3 of 10 blocks of parse (/src/parse.c:88) via std::string::assign are never released",
    );
    expect(findingInWords(leak(PARSE, 3, 10), { isShort: true })).toBe(
      "3 of 10 blocks of parse (parse.c:88) via std::string::assign are never released",
    );
    expect(findingInWords(leak({ path: [{ address: 2 ** 32 + 0x1f }] }, 1))).toBe(
      "1 block of a function without a name (+0x1f) is never released",
    );
  });
});
