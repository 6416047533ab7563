import { describe, expect, it } from "vitest";
import { checkLimits } from "../../../../src/explain/limits/check-limits.ts";
import { parseLimit } from "../../../../src/explain/limits/limit.ts";
import { heapProfileFromRaw } from "../../../../src/profile/formats/memprof-raw/index.ts";
import type { HeapProfile } from "../../../../src/profile/model/heap-profile.ts";
import type { CheckedRunReport } from "../../../../src/show/report/limits/checked.ts";
import { checkGithub, checkSummary } from "../../../../src/show/report/limits/github.ts";
import { checkJson } from "../../../../src/show/report/limits/json.ts";
import { checkJunit } from "../../../../src/show/report/limits/junit.ts";
import { checkSarif } from "../../../../src/show/report/limits/sarif.ts";
import { checkText } from "../../../../src/show/report/limits/text.ts";
import { createPaint } from "../../../../src/show/report/terminal/common/paint.ts";
import { heapPicture } from "../../../heap-picture.ts";
import { SARIF, violations } from "./sarif-schema.ts";

const STRANGE = 'a<b>::f("x", 100%)\u0007,\nrest';

/** A run whose sites have lines: `f` is in line 10 of a file with a strange name. */
function profileOf(name = "parse"): HeapProfile {
  const { raw, run } = heapPicture("main > parse  10 x 100  peak 10  live 4\nmain > cache  1 x 5  peak 1");
  return heapProfileFromRaw(raw, run, () => (pc) => {
    const [module, offset] = [0, Number(pc & 0xffff_ffffn)];
    const line = 10 + (offset % 7);
    return [
      { module: module as never, name: offset > 0x100 ? name : "main", offset, file: "src/a b,c.c", line },
    ];
  });
}

function reportOf(
  limits: readonly string[],
  changes: Partial<CheckedRunReport> = {},
  name?: string,
): CheckedRunReport {
  const heap = profileOf(name);
  return {
    run: "memshade.out/app",
    program: "app",
    clock: heap.description.clock,
    limits: checkLimits({ name: "run", tools: { heap } }, limits.map(parseLimit), {
      baseline: { name: "old", tools: { heap } },
    }),
    notes: [],
    locate: (file) => file,
    ...changes,
  };
}

const FAILING = ["peak<8", "left=0", "blocks<100"];

describe("the result of a check", () => {
  it("as text names measure, value, limit, and the line with most", () => {
    const text = checkText(reportOf(FAILING), createPaint(false), 80);
    expect(text).toMatch(
      /^FAILED peak<8\n {7}1,005 B, not below 8 B\n {7}most at parse \(src\/a b,c\.c:1\d\): 1,000 B$/m,
    );
    expect(text).toMatch(/^ok {5}blocks<100\n {7}11 blocks, below 100 blocks$/m);
    expect(text.trimEnd().split("\n").at(-1)).toBe("2 of 3 limits failed");
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("as JSON has every limit with its numbers", () => {
    const json = JSON.parse(checkJson(reportOf(["left<=+0", ...FAILING])));
    expect(json).toMatchObject({ schema: "memshade-check", version: 1, passed: false, failed: 2 });
    expect(json.limits[0]).toMatchObject({
      limit: "left<=+0",
      passed: true,
      value: 400,
      baseline: 400,
      allowed: 400,
    });
    expect(json.limits[2]).toMatchObject({
      measure: "left",
      unit: "bytes",
      relation: "=",
      most: { amount: 400, line: { file: "src/a b,c.c" } },
    });
  });

  it("as SARIF has what code scanning asks for", () => {
    const sarif = JSON.parse(checkSarif(reportOf(FAILING)));
    expect(sarif.version).toBe("2.1.0");
    expect(sarif.$schema).toMatch(/sarif-2\.1\.0/);
    const [run] = sarif.runs;
    expect(run.results).toHaveLength(2);
    for (const rule of run.tool.driver.rules)
      for (const text of [rule.shortDescription.text, rule.fullDescription.text, rule.help.text]) {
        expect(text.length).toBeGreaterThan(0);
        expect(text.length).toBeLessThanOrEqual(1024);
      }
    for (const result of run.results) {
      expect(run.tool.driver.rules[result.ruleIndex].id).toBe(result.ruleId);
      const { artifactLocation, region } = result.locations[0].physicalLocation;
      expect(artifactLocation.uri).toBe("src/a%20b%2Cc.c");
      expect(Object.keys(region)).toEqual(["startLine", "startColumn", "endLine", "endColumn"]);
      expect(result.partialFingerprints.primaryLocationLineHash).toMatch(/^[0-9a-f]{16}:1$/);
      expect(result.message.text).not.toBe("");
    }
    expect(checkSarif(reportOf(FAILING))).toBe(checkSarif(reportOf(FAILING)));
  });

  it("as SARIF keeps to the schema, with strange names and without lines too", () => {
    const placeless = reportOf(FAILING).limits.map((limit) => ({ ...limit, most: undefined }));
    for (const report of [
      reportOf(FAILING),
      reportOf(FAILING, {}, STRANGE),
      reportOf([]),
      reportOf(FAILING, { locate: (file) => `/build tree/${file} <1>|^` }),
      reportOf([], { limits: placeless, program: "my app" }),
    ])
      expect(violations(JSON.parse(checkSarif(report)), SARIF)).toEqual([]);
    const broken = JSON.parse(checkSarif(reportOf(FAILING)));
    broken.runs[0].results[0].level = "fatal";
    delete broken.runs[0].tool.driver.name;
    broken.runs[0].results[1].locations[0].physicalLocation.region.startLine = 0;
    expect(violations(broken, SARIF)).toHaveLength(3);
  });

  it("as SARIF has a place also where no line is known", () => {
    const limits = reportOf(FAILING).limits.map(({ most: _, ...rest }) => ({ ...rest, most: undefined }));
    const written = { file: "memory.yaml", line: 3 };
    const sarif = JSON.parse(checkSarif(reportOf([], { limits: [limits[0]!, { ...limits[1]!, written }] })));
    const uris = sarif.runs[0].results.map(
      (result: { locations: { physicalLocation: { artifactLocation: { uri: string } } }[] }) =>
        result.locations[0]!.physicalLocation.artifactLocation.uri,
    );
    expect(uris.sort()).toEqual(["app", "memory.yaml"]);
  });

  it("as JUnit is XML with a test for each limit", () => {
    const xml = checkJunit(reportOf(FAILING, { notes: ["a < b & \u0000"] }, STRANGE));
    expect(xml).toMatch(/<testsuites name="memshade check" tests="3" failures="2"/);
    expect(xml.match(/<testcase /g)).toHaveLength(3);
    expect(xml.match(/<failure /g)).toHaveLength(2);
    expect(xml).toContain('name="peak&lt;8"');
    expect(xml).toContain("a &lt; b &amp; \ufffd");
    // The output has no characters that XML forbids, and every tag is closed.
    expect([...xml].filter((character) => character < " " && character !== "\n")).toEqual([]);
    expect(xml).not.toMatch(/&(?!amp;|lt;|gt;|quot;|#10;)/);
    const open = [...xml.matchAll(/<(\/?)(\w+)[^>]*?(\/?)>/g)].reduce(
      (depth, [, end, , self]) => depth + (self ? 0 : end ? -1 : 1),
      0,
    );
    expect(open).toBe(0);
  });

  it("as workflow commands is escaped, and has at most ten annotations", () => {
    const many = Array.from({ length: 12 }, (_, i) => `peak<${i + 1}`);
    const lines = checkGithub(reportOf(many, {}, STRANGE)).split("\n");
    const errors = lines.filter((line) => line.startsWith("::error "));
    expect(errors).toHaveLength(10);
    expect(errors[0]).toMatch(
      /^::error file=src\/a b%2Cc\.c,line=1\d,endLine=1\d,title=memshade%3A peak<1::peak is /,
    );
    expect(lines.filter((line) => line.startsWith("failed: "))).toHaveLength(2);
    // A name with a line break must not start a second command.
    expect(lines).toHaveLength(10 + 2 + 1 + 1);
  });

  it("says of a limit that chooses nothing that it does", () => {
    const report = reportOf(["left[function=nobody]=0"]);
    expect(checkText(report, createPaint(false), 80)).toContain("no place of the run is chosen");
    expect(checkGithub(report)).toMatch(/^::notice title=memshade::left\[function=nobody\]=0: no place/);
  });

  it("as the summary of a job is a table that fits", () => {
    const summary = checkSummary(reportOf(["peak<=+0", ...FAILING], {}, "a|b<script>`"));
    const rows = summary.split("\n").filter((line) => line.startsWith("| "));
    expect(rows).toHaveLength(2 + 4);
    for (const row of rows) expect(row.replaceAll("\\|", "").match(/\|/g)).toHaveLength(6);
    expect(summary).not.toContain("<script>");
    const many = Array.from({ length: 9000 }, (_, i) => `peak<${i + 1}`);
    expect(new TextEncoder().encode(checkSummary(reportOf(many))).length).toBeLessThanOrEqual(1 << 20);
  });

  it("in every form tells what is undecided from what failed", () => {
    const heap = profileOf();
    const bounds = [{ figures: ["left" as const], are: "least" as const, because: "5 blocks found no room" }];
    const limits = checkLimits({ name: "run", tools: { heap }, facts: { bounds } }, [
      parseLimit("left<1MiB"),
      parseLimit("peak<8"),
    ]);
    const report = reportOf([], { limits });
    const text = checkText(report, createPaint(false), 80);
    expect(text).toMatch(
      /^UNDECIDED left<1MiB\n {7}at least 400 B, not known whether below 1\.00 MiB \(1,048,576 B\)\n {7}undecided because 5 blocks found no room$/m,
    );
    expect(text.trimEnd().split("\n").at(-1)).toBe("1 of 2 limits failed, 1 is undecided");
    const json = JSON.parse(checkJson(report));
    expect(json).toMatchObject({ passed: false, failed: 1, undecided: 1 });
    expect(json.limits).toMatchObject([
      {
        passed: false,
        outcome: "undecided",
        undecided: ["5 blocks found no room"],
        atLeast: 400,
        atMost: null,
      },
      { passed: false, outcome: "failed", undecided: [], atLeast: 1005, atMost: 1005 },
    ]);
    const sarif = JSON.parse(checkSarif(report));
    expect(violations(sarif, SARIF)).toEqual([]);
    expect(sarif.runs[0].results.map(({ level }: { level: string }) => level)).toEqual(["error", "warning"]);
    const xml = checkJunit(report);
    expect(xml).toMatch(/tests="2" failures="1" errors="1"/);
    expect(xml).toMatch(/<error message="left is at least 400 B, not known whether [^"]*" type="undecided">/);
    const lines = checkGithub(report);
    expect(lines).toMatch(/^::warning .*title=memshade%3A left<1MiB::left is at least 400 B/m);
    expect(lines).toMatch(/^::error .*title=memshade%3A peak<8::/m);
    expect(checkSummary(report)).toMatch(/^\| ❔ undecided \| `left<1MiB` \|/m);
    const alone = reportOf([], { limits: limits.slice(0, 1) });
    expect(checkGithub(alone)).toMatch(/^memshade check: the limit is undecided$/m);
  });
});
