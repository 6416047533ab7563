import {
  type CheckedRunReport,
  failedLimits,
  outcomeOf,
  type ReportedLimit,
  undecidedLimits,
} from "./checked.ts";
import { comparisonInWords, frameInWords, limitSentence, lineOf } from "./words.ts";

/** Formats the limits in JUnit's XML: one test case each. */
export function checkJunit(report: CheckedRunReport): string {
  const { limits, program, run, notes } = report;
  const [failures, errors] = [failedLimits(report).length, undecidedLimits(report).length];
  const counts = attributes({ tests: limits.length, failures, errors, skipped: 0, time: 0 });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${attributes({ name: "memshade check" })} ${counts}>`,
    `  <testsuite ${attributes({ name: `memory of ${program}` })} ${counts}>`,
    `    <properties><property ${attributes({ name: "run", value: run })}/></properties>`,
    ...limits.map((checked) => testCase(checked, report)),
    ...(notes.length === 0 ? [] : [`    <system-out>${text(notes.join("\n"))}</system-out>`]),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function testCase(checked: ReportedLimit, report: CheckedRunReport): string {
  const { limit, measure, passed, most } = checked;
  const line = passed ? undefined : lineOf(checked, report.locate);
  const head = attributes({ classname: `memshade.${report.program}`, name: limit.text, ...line, time: 0 });
  if (passed)
    return `    <testcase ${head}><system-out>${text(comparisonInWords(checked, report.clock))}</system-out></testcase>`;
  // An undecided limit is an error in JUnit's terms.
  const [element, type] =
    outcomeOf(checked) === "undecided"
      ? (["error", "undecided"] as const)
      : (["failure", measure.id] as const);
  const stack = (most?.place.path ?? []).map((frame) => `    at ${frameInWords(frame, report.locate)}`);
  return [
    `    <testcase ${head}>`,
    `      <${element} ${attributes({ message: limitSentence(checked, report), type })}>${text([limitSentence(checked, report), ...stack].join("\n"))}</${element}>`,
    "    </testcase>",
  ].join("\n");
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(
      ([name, value]) =>
        `${name}="${text(String(value)).replaceAll('"', "&quot;").replaceAll("\n", "&#10;")}"`,
    )
    .join(" ");
}

/** XML cannot represent most control characters, nor unpaired surrogates. */
function text(value: string): string {
  return value
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
