import type { Finding } from "../../analyses/findings/finding.ts";
import { findingInWords } from "../findings/finding-lines.ts";

/** The findings of a run as JSON (docs/report-json.md), each with its sentence. */
export function findingsJson(findings: readonly Finding[]): object[] {
  return findings.map((finding) => ({ ...finding, says: findingInWords(finding) }));
}
