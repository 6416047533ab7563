import { functionInWords } from "../../explain/analyses/frames/place-names.ts";
import type { PlaceFrame } from "../../explain/findings/finding-kind.ts";
import { adviceOf, type Finding, kindOf, weightOf, wholeOfPart } from "../../explain/findings/index.ts";
import { amountOf, findingInWords } from "./findings.ts";
import { jsonText } from "./json/text.ts";
import { workflowCommand } from "./limits/github.ts";
import { type SarifPlace, type SarifRule, sarifText } from "./sarif.ts";
import { cutMiddle, printable } from "./terminal/common/text.ts";

/** Forms of findings that other programs read. */
export const FINDING_FORMATS = ["sarif", "github", "gcc"] as const;

export type FindingFormat = (typeof FINDING_FORMATS)[number];

/** Findings of a run, the largest parts first, for programs that read them. */
export interface ReportedFindings {
  /** Run as the user typed it, quoted for a shell. */
  readonly run: string;
  /** Short name of the program. */
  readonly program: string;
  readonly findings: readonly Finding[];
  /** Number of further findings, which are left out. */
  readonly more: number;
  /** Maps a recorded path to its path in the repository. */
  readonly inRepository: (file: string) => string;
  /** Maps a recorded path to the whole path of the file on this machine; unknown files stay as recorded. */
  readonly onDisk: (file: string) => string;
}

export function formatFindings(format: FindingFormat, reported: ReportedFindings): string {
  switch (format) {
    case "sarif":
      return findingsSarif(reported);
    case "github":
      return findingsGithub(reported);
    case "gcc":
      return findingsGcc(reported);
    default:
      throw new RangeError(`no such format: ${format satisfies never}`);
  }
}

/** Findings alone, at most {@link MOST_BYTES} of text. */
export interface FindingsJson {
  /** Name and version of the format. */
  schema: "memshade-findings";
  version: 1;
  /** Run, as named on the command line. */
  run: string;
  /** Short name of the program. */
  program: string;
  /** Largest parts first. */
  findings: readonly BriefFinding[];
  /** Number of further findings, which are left out. */
  more: number;
}

/** A finding as a reader needs it who has never seen the tool. */
export interface BriefFinding {
  /** Glossary word: `memshade explain KIND` explains it. */
  kind: string;
  /** Sentence with amount and location. */
  sentence: string;
  /** Action to take. */
  advice: string;
  /** Function of the location. */
  function: string;
  /** Whole path, if the file is on this machine; absent if no line is known. */
  file?: string | undefined;
  /** Line and column count from 1; a column is absent if the tool does not record it. */
  line?: number | undefined;
  column?: number | undefined;
  /** Amount that is saved if the finding is fixed. */
  amount: number;
  unit: string;
  /** Amount as a part, 0…1, of the total that `shareOf` names. */
  share: number;
  shareOf: string;
  /** Command that shows more. */
  command: string;
}

/** Most bytes of findings alone: they fit into one answer to a program that asks. */
export const MOST_BYTES = 8192;
/** Most columns of a name or a sentence; names of templates can have thousands. */
const MOST_COLUMNS = 600;

/** Formats findings alone as JSON. Those that do not fit are counted as further ones. */
export function findingsAlone({ run, program, findings, more, onDisk }: ReportedFindings): string {
  const brief = findings.map((finding) => briefFinding(finding, run, onDisk));
  for (let count = brief.length; ; count--) {
    const document: FindingsJson = {
      schema: "memshade-findings",
      version: 1,
      run: cutMiddle(run, MOST_COLUMNS),
      program: cutMiddle(program, MOST_COLUMNS),
      findings: brief.slice(0, count),
      more: more + brief.length - count,
    };
    const text = jsonText(document);
    if (count === 0 || Buffer.byteLength(text) <= MOST_BYTES) return text;
  }
}

function briefFinding(finding: Finding, run: string, onDisk: (file: string) => string): BriefFinding {
  const { kind, place, amount, unit, part } = finding;
  const own = place.path[0]!;
  const position = positionOf(own, onDisk);
  return {
    kind,
    sentence: cutMiddle(sentenceWithAmount(finding), MOST_COLUMNS),
    advice: adviceOf(finding),
    function: cutMiddle(functionInWords(own), MOST_COLUMNS),
    ...position,
    amount,
    unit,
    share: part,
    shareOf: wholeOfPart(finding).long,
    command: `memshade top ${run} --by ${weightOf(finding)}`,
  };
}

/** Forms `90.5 KiB 900 of 1,000 blocks of lose (lk.c:8) are lost`. */
function sentenceWithAmount(finding: Finding): string {
  return `${amountOf(finding)} ${findingInWords(finding, { isShort: true })}`;
}

function positionOf(
  { file, line, column }: PlaceFrame,
  locate: (file: string) => string,
): SarifPlace | undefined {
  if (file === undefined || line === undefined || line === 0) return undefined;
  return { file: locate(file), line, ...(column === undefined ? {} : { column }) };
}

function findingsSarif({ program, findings, inRepository }: ReportedFindings): string {
  const rules = new Map(findings.map((finding) => [finding.kind, ruleOf(finding)]));
  const results = findings.map((finding) => {
    const { path } = finding.place;
    const [own] = path;
    return {
      rule: finding.kind,
      level: "warning" as const,
      text: `${sentenceWithAmount(finding)}. ${adviceOf(finding)}`,
      // Readers reject results without a location, so the program stands for a missing one.
      place: positionOf(own!, inRepository) ?? { file: program, line: 1 },
      identity: `${finding.kind}\n${own?.function ?? ""}\n${own?.file ?? ""}`,
      calls: path
        .flatMap((frame) => {
          const place = positionOf(frame, inRepository);
          return place === undefined ? [] : [{ ...place, text: functionInWords(frame) }];
        })
        .toReversed(),
    };
  });
  return sarifText(program, [...rules.values()], results);
}

function ruleOf(finding: Finding): SarifRule {
  const { kind, meaning, advice } = kindOf(finding);
  return {
    id: kind,
    title: `Finding: ${kind}`,
    meaning,
    help: advice,
    tags: ["memory", finding.tool],
    severity: "warning",
  };
}

function findingsGithub({ findings, inRepository }: ReportedFindings): string {
  const lines = findings.map((finding) =>
    workflowCommand("warning", positionOf(finding.place.path[0]!, inRepository), {
      title: finding.kind,
      text: printable(`${sentenceWithAmount(finding)}. ${adviceOf(finding)}`),
    }),
  );
  return lines.map((line) => `${line}\n`).join("");
}

/** Formats findings as the messages of a compiler, which editors and `make` read: a warning, and the advice as a note. */
function findingsGcc({ program, findings, onDisk }: ReportedFindings): string {
  const lines = findings.flatMap((finding) => {
    const position = positionOf(finding.place.path[0]!, onDisk);
    const { file, line, column = 1 } = position ?? {};
    const at = printable(file === undefined ? program : `${file}:${line}:${column}`);
    return [
      `${at}: warning: ${printable(sentenceWithAmount(finding))} [${finding.kind}]`,
      `${at}: note: ${adviceOf(finding)}`,
    ];
  });
  return lines.map((line) => `${line}\n`).join("");
}
