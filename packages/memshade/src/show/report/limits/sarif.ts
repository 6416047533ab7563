import type { LimitFrame } from "../../../explain/limits/measured-place.ts";
import { MEMSHADE_VERSION } from "../../../profile/model/version.ts";
import { jsonText } from "../json/text.ts";
import {
  type CheckedRunReport,
  failedLimits,
  outcomeOf,
  type ReportedLimit,
  undecidedLimits,
} from "./checked.ts";
import { frameInWords, limitSentence, lineOf } from "./words.ts";

/** Most characters that readers accept in texts of rules. */
const MOST_TEXT = 1024;

/**
 * Formats failed limits, and undecided ones as warnings, as SARIF 2.1.0, in the subset that GitHub code
 * scanning reads.
 */
export function checkSarif(report: CheckedRunReport): string {
  const reported = [...failedLimits(report), ...undecidedLimits(report)];
  const rules = [...new Set(reported.map(({ measure }) => measure))];
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
            rules: rules.map(({ id, meaning, needs, tool }) => ({
              id: `memshade/${id}`,
              name: id,
              shortDescription: { text: cut(`Limit of ${id}`) },
              fullDescription: { text: cut(`${id}: ${meaning}.`) },
              help: {
                text: cut(`${id}: ${meaning}. It takes ${needs}. memshade report RUN shows who has it.`),
              },
              properties: { tags: ["memory", tool], precision: "very-high", "problem.severity": "error" },
            })),
          },
        },
        // Text up to the last slash is the category of alerts.
        automationDetails: { id: `memshade/${report.program}/` },
        results: reported.map((checked) => resultOf(checked, report, rules.indexOf(checked.measure))),
      },
    ],
  });
}

function resultOf(checked: ReportedLimit, report: CheckedRunReport, ruleIndex: number): object {
  const { limit, measure, most } = checked;
  const own = most?.place.path[0];
  const flow = (most?.place.path ?? []).filter(hasLine).toReversed();
  return {
    ruleId: `memshade/${measure.id}`,
    ruleIndex,
    level: outcomeOf(checked) === "undecided" ? "warning" : "error",
    message: { text: `${limit.text}: ${limitSentence(checked, report)}` },
    // Readers reject results without a location, so the program stands for a missing one.
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

function hasLine(frame: LimitFrame): frame is LimitFrame & { file: string; line: number } {
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

/** FNV-1a, 64 bits: stable; collisions need no protection against attacks. */
function hash(text: string): string {
  let value = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text))
    value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n);
  return value.toString(16).padStart(16, "0");
}
