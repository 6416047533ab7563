import { describe, expect, it } from "vitest";
import type { FindingPlace } from "../../../src/explain/findings/finding-kind.ts";
import type { Finding } from "../../../src/explain/findings/index.ts";
import {
  findingsAlone,
  formatFindings,
  MOST_BYTES,
  type ReportedFindings,
} from "../../../src/show/report/finding-forms.ts";
import { SARIF, violations } from "./limits/sarif-schema.ts";

const LOSE: FindingPlace = {
  path: [
    { function: "lose", file: "/build/src/shop.c", line: 42, column: 25 },
    { function: "main", file: "/build/src/main.c", line: 7 },
  ],
};

function leak(place: FindingPlace = LOSE, amount = 92_696): Finding {
  return {
    kind: "leak",
    state: "lost",
    behind: 0,
    tool: "heap",
    place,
    amount,
    unit: "bytes",
    part: 0.5,
    blocks: 900,
    allocated: 1000,
  };
}

function report(findings: readonly Finding[], changes: Partial<ReportedFindings> = {}): ReportedFindings {
  return {
    run: "memshade.out/app.1",
    program: "app",
    findings,
    more: 2,
    inRepository: (file) => file.replace("/build/", ""),
    onDisk: (file) => file.replace("/build/", "/home/anna/"),
    ...changes,
  };
}

const STRANGE = { function: 'a<b>::f("x", 100%)\u0007,\nrest', file: "a b,c.c", line: 1 };

describe("findings for other programs", () => {
  it("alone are JSON with sentence, advice, whole place and a further command", () => {
    expect(JSON.parse(findingsAlone(report([leak()])))).toEqual({
      schema: "memshade-findings",
      version: 1,
      run: "memshade.out/app.1",
      program: "app",
      findings: [
        {
          kind: "leak",
          sentence: "90.5 KiB 900 of 1,000 blocks of lose (shop.c:42) are lost",
          advice: "Release the blocks where their owner ends: with free, a destructor, delete() or close().",
          function: "lose",
          file: "/home/anna/src/shop.c",
          line: 42,
          column: 25,
          amount: 92_696,
          unit: "bytes",
          share: 0.5,
          shareOf: "of the bytes or of the blocks at the peak, whatever is more",
          command: "memshade top memshade.out/app.1 --by left",
        },
      ],
      more: 2,
    });
  });

  it("alone have at most 8 KiB, and those that do not fit are counted", () => {
    const long = { path: [{ ...STRANGE, function: `std::map<${"char, ".repeat(5000)}>` }] };
    const text = findingsAlone(report(Array.from({ length: 50 }, () => leak(long))));
    const { findings, more } = JSON.parse(text);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MOST_BYTES);
    expect(findings.length).toBeGreaterThan(2);
    expect(findings.length + more).toBe(52);
  });

  it("as messages of a compiler have file, line and column, and the advice as a note", () => {
    expect(formatFindings("gcc", report([leak()]))).toBe(
      [
        "/home/anna/src/shop.c:42:25: warning: 90.5 KiB 900 of 1,000 blocks of lose (shop.c:42) are lost [leak]",
        "/home/anna/src/shop.c:42:25: note: Release the blocks where their owner ends: with free, a destructor, delete() or close().",
        "",
      ].join("\n"),
    );
    // A place without a line is that of the program, and a name cannot begin a line.
    const placeless = formatFindings("gcc", report([leak({ path: [{ function: STRANGE.function }] })]));
    expect(placeless.trimEnd().split("\n")).toHaveLength(2);
    expect(placeless).toMatch(/^app: warning: /);
  });

  it("as annotations of GitHub name the line in the repository", () => {
    expect(formatFindings("github", report([leak()]))).toMatch(
      /^::warning file=src\/shop\.c,line=42,endLine=42,title=memshade%3A leak::90\.5 KiB 900 of .*close\(\)\.\n$/,
    );
    const strange = formatFindings("github", report([leak({ path: [STRANGE] })]));
    expect(strange.trimEnd().split("\n")).toHaveLength(1);
    expect(strange).toMatch(/^::warning file=a b%2Cc\.c,/);
  });

  it("as SARIF keep to the schema, and name the calls that lead to the place", () => {
    const sarif = JSON.parse(
      formatFindings("sarif", report([leak(), leak({ path: [STRANGE] }), leak({ path: [{}] })])),
    );
    expect(violations(sarif, SARIF)).toEqual([]);
    const [run] = sarif.runs;
    expect(run.tool.driver.rules).toHaveLength(1);
    const [first] = run.results;
    expect(first).toMatchObject({ ruleId: "memshade/leak", level: "warning" });
    expect(first.locations[0].physicalLocation).toEqual({
      artifactLocation: { uri: "src/shop.c" },
      region: { startLine: 42, startColumn: 25, endLine: 42, endColumn: 26 },
    });
    const steps = first.codeFlows[0].threadFlows[0].locations;
    expect(
      steps.map((step: { location: { message: { text: string } } }) => step.location.message.text),
    ).toEqual(["main", "lose"]);
    expect(run.results[2].locations[0].physicalLocation.artifactLocation.uri).toBe("app");
  });
});
