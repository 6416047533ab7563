import { MEMSHADE_VERSION } from "../../profile/model/version.ts";
import { jsonText } from "./json/text.ts";

/** Kind of result, as code scanning lists it. */
export interface SarifRule {
  /** Glossary word or measure. */
  readonly id: string;
  readonly title: string;
  readonly meaning: string;
  /** Action to take. */
  readonly help: string;
  readonly tags: readonly string[];
  readonly severity: "error" | "warning";
}

/** Position in the repository; lines and columns count from 1. */
export interface SarifPlace {
  readonly file: string;
  readonly line: number;
  readonly column?: number | undefined;
}

export interface SarifResult {
  /** Id of the rule. */
  readonly rule: string;
  readonly level: "error" | "warning";
  readonly text: string;
  readonly place: SarifPlace;
  /** Text that stays the same when lines move, so that the result is recognized in later runs. */
  readonly identity: string;
  /** Calls that lead to the place, outermost first. */
  readonly calls: readonly (SarifPlace & { readonly text: string })[];
}

/** Most characters that readers accept in texts of rules. */
const MOST_TEXT = 1024;

/** Formats results as SARIF 2.1.0, in the subset that GitHub code scanning reads. */
export function sarifText(
  program: string,
  rules: readonly SarifRule[],
  results: readonly SarifResult[],
): string {
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
            rules: rules.map(({ id, title, meaning, help, tags, severity }) => ({
              id: `memshade/${id}`,
              name: id,
              shortDescription: { text: cut(title) },
              fullDescription: { text: cut(meaning) },
              help: { text: cut(help) },
              properties: { tags, precision: "very-high", "problem.severity": severity },
            })),
          },
        },
        // Text up to the last slash is the category of alerts.
        automationDetails: { id: `memshade/${program}/` },
        results: results.map(({ rule, level, text, place, identity, calls }) => ({
          ruleId: `memshade/${rule}`,
          ruleIndex: rules.findIndex(({ id }) => id === rule),
          level,
          message: { text },
          locations: [locationOf(place)],
          partialFingerprints: { primaryLocationLineHash: `${hash(identity)}:1` },
          ...(calls.length < 2 ? {} : { codeFlows: [{ threadFlows: [{ locations: calls.map(stepOf) }] }] }),
        })),
      },
    ],
  });
}

function stepOf(call: SarifPlace & { readonly text: string }): object {
  return { location: { ...locationOf(call), message: { text: call.text } } };
}

function locationOf({ file, line, column = 1 }: SarifPlace): object {
  return {
    physicalLocation: {
      artifactLocation: { uri: uriOf(file) },
      region: { startLine: line, startColumn: column, endLine: line, endColumn: column + 1 },
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
