import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HeapProfile } from "../../../../../src/profile/model/heap-profile.ts";
import { createPaint } from "../../../../../src/show/report/terminal/common/paint.ts";
import { heapReport } from "../../../../../src/show/report/terminal/heap/heap-report.ts";
import { heapPicture, profileOfPicture, rawProfileOfPicture } from "../../../../heap-picture.ts";
import { expectFits } from "../../../../support/expect-fits.ts";
import { heapProfile } from "../../arbitrary.ts";
import { DATABASE, TIDY } from "../../pictures.ts";

const plain = { paint: createPaint(false), width: 80, isWide: false, input: "memshade.out/app.1" };
const golden = (name: string) => path.resolve(import.meta.dirname, `../../golden/${name}.txt`);
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

  it("says nothing of accesses where nobody counted them", () => {
    const profile = profileOfPicture(TIDY);
    expect(report(profile)).toContain("every block that was written was also read");
    const uncounted = { ...profile, description: { ...profile.description, counters: "none" as const } };
    expect(report(uncounted)).not.toMatch(/accessed|also read/);
  });

  it("says when blocks are counted twice, and has no empty tables where no site is known", () => {
    const dumped = report(profileOfPicture(TIDY, {}, { allocations: 900 })).replace(/\s+/g, " ");
    expect(dumped).toContain("The sites below have 100 allocations too many: a block");
    const withoutSites = report(profileOfPicture("", {}, { allocations: 3 }));
    expect(withoutSites).toContain("3 of 3 allocations are at no site below.");
    expect(withoutSites).not.toContain("─");
  });

  it("without any allocation says so and what may be the reason", async () => {
    const { modules } = heapPicture("").run;
    const withoutAllocator = { ...modules[0]!, allocator: { how: "none" as const, functions: [] } };
    const second = { ...modules[0]!, name: "lib.wasm", start: "0x100000000" };
    const profile = profileOfPicture("", { modules: [withoutAllocator, second] });
    await expect(report(profile)).toMatchFileSnapshot(golden("empty"));
  });
});

describe("lines of the report", () => {
  it("fit the screen where long facts, long module names and many paths meet", () => {
    const paths = Array.from(
      { length: 1200 },
      (_, i) =>
        `main > caller${i} > a_long_database_name!append_to_buffer > database!alloc  17 x ${7100 + i}  life 1`,
    );
    const inTwoModules = [...paths, "main > append_to_buffer > database!alloc  1 x 7  life 400"].join("\n");
    for (const line of report(profileOfPicture(inTwoModules)).split("\n")) expectFits(line);
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

  it("of a small site get few lines: heaviest branches first, an ellipsis where a fork is not shown", () => {
    const callers = Array.from({ length: 6 }, (_, a) =>
      Array.from(
        { length: 6 },
        (_, b) => `main > outer${a}${b} > inner${a} > alloc  ${9 - a} x 8  peak ${9 - a}`,
      ),
    );
    const lines = ofPeak(`big  1 x 8000  peak 1\n${callers.flat().join("\n")}`).split("\n");
    expect(lines.slice(lines.findIndex((line) => line.endsWith("alloc")) + 2)).toEqual([
      "      ├ 23.1 % ← inner0 ← …",
      "      ├ 20.5 % ← inner1 ← …",
      "      ├ 17.9 % ← inner2 ← …",
      "      └ 38.5 % 3 more callers",
    ]);
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
    expect(lines[1]).toMatch(/← … \d+ more ← main$/);
  });
});

describe("the name of a site", () => {
  const names = (picture: string) =>
    report(profileOfPicture(picture))
      .split("\n")
      .filter((line) => line.includes("█"))
      .map((line) => line.slice(30));

  it("has the place behind it where one function allocates at several", () => {
    expect(names("main > parse@1  9 x 8  peak 9\nmain > parse@2  9 x 8  peak 9").slice(0, 2)).toEqual([
      "parse @0x210",
      "parse @0x220",
    ]);
  });

  it("tells the role of an export that the host allocates through", () => {
    const { run } = heapPicture("^Ia  1 x 8  peak 1");
    const allocator = {
      ...run.modules[0]!.allocator,
      functions: [{ role: "malloc", index: 10, name: "Ia" }],
    };
    const profile = profileOfPicture("^Ia  1 x 8  peak 1", { modules: [{ ...run.modules[0]!, allocator }] });
    expect(report(profile)).toContain("████████  Ia (malloc)\n");
  });

  it("is the function's index where it has no name, and says so where no call path was recorded", () => {
    expect(names("main > ?  1 x 8  peak 1")[0]).toBe("func[11]");
    expect(names("-  1 x 8  peak 1")[0]).toBe("(call path not recorded)");
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
            expectFits(line);
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

  it("has no more lines of callers than were asked for, the heaviest ones, and says how many more there are", () => {
    const callers = Array.from(
      { length: 40 },
      (_, i) => `main > part${i} > work > allocate  ${i + 1} x 100  peak ${i + 1}`,
    );
    const profile = profileOfPicture(callers.join("\n"));
    const all = report(profile, { isWide: true, callerLines: 1_000 });
    for (let i = 0; i < 40; i++) expect(all).toContain(`← part${i}\n`);
    expect(all).not.toContain("--lines");
    const some = report(profile, { isWide: true, callerLines: 10 });
    expect(some.split("\n").length).toBeLessThan(90);
    expect(some).toContain("← part39");
    expect(some).toMatch(/… and \d+ more lines: --lines N shows them/);
    const usual = report(profile, { isWide: true });
    expect(usual).toMatch(/… and 3\d more lines: --lines N shows them/);
  });

  it("bounds a single call path too", () => {
    const deep = Array.from({ length: 90 }, (_, i) => `level${i}`).join(" > ");
    const profile = profileOfPicture(`${deep} > allocate  10 x 100  peak 10`);
    const some = report(profile, { isWide: true, callerLines: 8 });
    expect(some.split("\n").length).toBeLessThan(70);
    expect(some).toMatch(/… and 8[12] more lines: --lines N shows them/);
  });
});
