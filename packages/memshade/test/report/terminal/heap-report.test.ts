import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HeapProfile } from "../../../src/model/heap-profile.ts";
import { heapReport } from "../../../src/report/terminal/heap-report.ts";
import { createPaint } from "../../../src/report/terminal/paint.ts";
import { displayWidth } from "../../../src/report/terminal/text.ts";
import { heapPicture, profileOfPicture, rawProfileOfPicture } from "../../heap-picture.ts";
import { heapProfile } from "../arbitrary.ts";
import { DATABASE, TIDY } from "../pictures.ts";

const plain = { paint: createPaint(false), width: 80, isWide: false, input: "memshade.out/app.1" };
const golden = (name: string) => path.resolve(import.meta.dirname, `../golden/${name}.txt`);
const report = (profile: HeapProfile, options: Partial<Parameters<typeof heapReport>[1]> = {}) =>
  heapReport(profile, { ...plain, ...options });

describe("the report of a run", () => {
  it("shows the peak's owners with their callers, the biggest allocators, leaks, waste and short lives", async () => {
    await expect(report(profileOfPicture(DATABASE))).toMatchFileSnapshot(golden("database"));
  });

  it("is short for a tidy program", async () => {
    await expect(report(profileOfPicture(TIDY))).toMatchFileSnapshot(golden("tidy"));
  });

  it("of a raw file alone shows what that file knows", async () => {
    await expect(report(rawProfileOfPicture(TIDY))).toMatchFileSnapshot(golden("raw-alone"));
  });

  it("begins with everything that the profile does not cover, and with how the run ended", async () => {
    const { modules } = heapPicture(TIDY).run;
    const profile = profileOfPicture(
      TIDY,
      {
        end: { kind: "trap", message: "RuntimeError: unreachable" },
        notTracked: ["The imported function env.copy writes to memory; its stores are not counted."],
        modules: [
          { ...modules[0]!, allocator: { ...modules[0]!.allocator, refused: "Two of its blocks overlap." } },
        ],
      },
      { overflow: { contexts: 12, blocks: 0 }, allocations: 1012 },
    );
    await expect(report(profile)).toMatchFileSnapshot(golden("gaps"));
  });

  it("without any allocation says so and what may be the reason", async () => {
    const { modules } = heapPicture("").run;
    const withoutAllocator = { ...modules[0]!, allocator: { how: "none" as const, functions: [] } };
    const second = { ...modules[0]!, name: "lib.wasm", start: "0x100000000" };
    const profile = profileOfPicture("", { modules: [withoutAllocator, second] });
    await expect(report(profile)).toMatchFileSnapshot(golden("empty"));
  });
});

describe("callers of a site", () => {
  const ofPeak = (picture: string) => {
    const lines = report(profileOfPicture(picture)).split("\n");
    const first = lines.findIndex((line) => line.startsWith("Who owns")) + 4;
    return lines.slice(first, lines.indexOf("", first)).join("\n");
  };

  it("follow each other on a line up to the fork, then branch with their parts", () => {
    const picture = `
      main > run > read > fetch > alloc    6 x 8  peak 6
      main > run > write > fetch > alloc   3 x 8  peak 3
      main > init > fetch > alloc          1 x 8  peak 1
    `;
    expect(ofPeak(picture)).toBe(
      [
        "      ← fetch",
        "      ├ 60.0 % ← read ← run ← main",
        "      ├ 30.0 % ← write ← run ← main",
        "      └ 10.0 % ← init ← main",
      ].join("\n"),
    );
  });

  it("below 5 % are counted together", () => {
    const picture = `
      a > alloc   97 x 8  peak 97
      b > alloc    2 x 8  peak 2
      c > alloc    1 x 8  peak 1
    `;
    expect(ofPeak(picture)).toBe("      ├ 97.0 % ← a\n      └ 3.0 % 2 more callers");
  });

  it("end at the host", () => {
    const picture = `
      main > alloc   3 x 8  peak 3
      alloc          1 x 8  peak 1
    `;
    expect(ofPeak(picture)).toBe("      ├ 75.0 % ← main\n      └ 25.0 % called by the host");
    expect(ofPeak("^malloc  1 x 8  peak 1")).toBe("      called by the host");
  });

  it("in a stack that is too deep leave out the middle and keep the root", () => {
    const deep = Array.from({ length: 60 }, (_, depth) => `level${depth}`).join(" > ");
    const lines = ofPeak(`main > ${deep} > alloc  1 x 8  peak 1`).split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/← … 5\d more ← main$/);
  });
});

describe("every report", () => {
  it("has lines of at most 80 columns, whatever is in the profile", () => {
    fc.assert(
      fc.property(
        heapProfile,
        fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
        (profile, rows) => {
          for (const line of report(profile, { rows }).split("\n")) {
            expect(displayWidth(line), line).toBeLessThanOrEqual(80);
            expect(line).not.toMatch(/\p{Cc}|\s$/u);
          }
        },
      ),
    );
  });

  it("is the same text with colours, apart from them", () => {
    fc.assert(
      fc.property(heapProfile, (profile) => {
        const colored = report(profile, { paint: createPaint(true) });
        // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is removed
        const stripped = colored.replace(/\u001b\[\d+m/g, "").replace(/ +$/gm, "");
        expect(stripped).toBe(report(profile));
      }),
    );
  });

  it("announces what it left out, and --wide and -n lift it", () => {
    const short = report(profileOfPicture(DATABASE));
    expect(short).toContain("more sites with");
    expect(short).toContain("--wide shows them in full");
    const full = report(profileOfPicture(DATABASE), { isWide: true, rows: 100 });
    expect(full).not.toMatch(/…|--wide|-n N/);
    expect(full).toContain("__gnu_cxx::__normal_iterator<Token*, std::vector<Token> >, Token const&)");
  });
});
