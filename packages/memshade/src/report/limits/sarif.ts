import type { MeasuredFrame } from "../../analyses/limits/measured-place.ts";
import { MEMSHADE_VERSION } from "../../model/version.ts";
import { jsonText } from "../json/text.ts";
import { type CheckedRunReport, failedLimits, type ReportedLimit } from "./checked.ts";
import { frameInWords, limitSentence, lineOf } from "./words.ts";

/** Readers take texts of rules up to this length. */
const MOST_TEXT = 1024;

/** The limits that failed as SARIF 2.1.0, in the subset that code scanning of GitHub reads. */
export function checkSarif(report: CheckedRunReport): string {
  const failed = failedLimits(report);
  const rules = [...new Set(failed.map(({ measure }) => measure))];
  return jsonText({
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "memshade",
            version: MEMSHADE_VERSION,
            informationUri: "https://github.com/memshade/memshade",
            rules: rules.map(({ word, what, needs, tool }) => ({
              id: `memshade/${word}`,
              name: word,
              shortDescription: { text: cut(`Limit of ${word}`) },
              fullDescription: { text: cut(`${word}: ${what}.`) },
              help: {
                text: cut(`${word}: ${what}. It takes ${needs}. memshade report RUN shows who has it.`),
              },
              properties: { tags: ["memory", tool], precision: "very-high", "problem.severity": "error" },
            })),
          },
        },
        automationDetails: { id: `memshade/${report.program}` },
        results: failed.map((checked) => resultOf(checked, report, rules.indexOf(checked.measure))),
      },
    ],
  });
}

function resultOf(checked: ReportedLimit, report: CheckedRunReport, ruleIndex: number): object {
  const { limit, measure, most } = checked;
  const own = most?.place.path[0];
  const flow = (most?.place.path ?? []).filter(hasLine).toReversed();
  return {
    ruleId: `memshade/${measure.word}`,
    ruleIndex,
    level: "error",
    message: { text: `${limit.text}: ${limitSentence(checked, report)}` },
    // Readers refuse results without a place: what has none is a matter of the whole program.
    locations: [locationOf(lineOf(checked, report.locate) ?? { file: report.program, line: 1 })],
    partialFingerprints: {
      primaryLocationLineHash: `${hash(`${limit.text}\n${own?.function ?? ""}\n${own?.file ?? ""}`)}:1`,
    },
    ...(flow.length < 2
      ? {}
      : {
          codeFlows: [
            {
              threadFlows: [
                {
                  locations: flow.map((frame) => ({
                    location: {
                      ...locationOf({ file: report.locate(frame.file), line: frame.line }),
                      message: { text: frameInWords(frame, report.locate) },
                    },
                  })),
                },
              ],
            },
          ],
        }),
  };
}

function hasLine(frame: MeasuredFrame): frame is MeasuredFrame & { file: string; line: number } {
  return frame.file !== undefined && frame.line !== undefined && frame.line > 0;
}

function locationOf({ file, line }: { readonly file: string; readonly line: number }): object {
  return {
    physicalLocation: {
      artifactLocation: { uri: uriOf(file) },
      region: { startLine: line, startColumn: 1, endLine: line, endColumn: 2 },
    },
  };
}

function uriOf(file: string): string {
  const path = file.split("/").map(encodeURIComponent).join("/");
  return file.startsWith("/") ? `file://${path}` : path;
}

function cut(text: string): string {
  return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT - 1)}…`;
}

/** FNV-1a, 64 bits: stable, and nobody has a reason to make two of them alike. */
function hash(text: string): string {
  let value = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text))
    value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n);
  return value.toString(16).padStart(16, "0");
}
