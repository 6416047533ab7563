import type { Finding } from "../../analyses/findings/finding.ts";
import { objectsByPlace } from "../../analyses/waste/blocks-by-place.ts";
import { fieldOrder } from "../../analyses/waste/field-order.ts";
import { wasteFindings } from "../../analyses/waste/findings.ts";
import { type PairTable, rankPairs } from "../../analyses/waste/pairs.ts";
import { rankWaste, type WasteKey } from "../../analyses/waste/rank-sites.ts";
import type { WasteFinding } from "../../analyses/waste/waste-finding.ts";
import type { Presence } from "../../model/run.ts";
import type { WasteFile } from "../../model/waste/waste.ts";
import { sentencesOf } from "../waste-sentences.ts";
import { findingsJson } from "./findings.ts";
import { presenceJson } from "./presence.ts";

/** The waste of a run as JSON: totals and findings (docs/report-json.md). */
export function wasteReportJson(
  file: WasteFile,
  options: {
    input: string;
    rows: number | undefined;
    presence?: Presence | undefined;
    /** What a person can act on; undefined: not to be written here. */
    summary?: readonly Finding[] | undefined;
  },
): string {
  const { findings, folded } = wasteFindings(file);
  const shown = findings.slice(0, options.rows ?? findings.length);
  return `${JSON.stringify(
    {
      schema: "memshade-waste-report",
      version: 1,
      input: options.input,
      command: file.command,
      presence: presenceJson(options.presence),
      modules: file.modules ?? null,
      notRecorded: file.notRecorded ?? [],
      options: file.options,
      notTracked: file.notTracked,
      totals: isRecorded(file) ? file.totals : null,
      summary: options.summary && findingsJson(options.summary),
      findings: shown.map(findingJson),
      findingsOmitted: findings.length - shown.length,
      folded,
      objects:
        file.objects &&
        objectsByPlace(file.objects).map((site) => {
          const order = fieldOrder(site);
          return {
            ...site,
            ...(order === undefined ? {} : { order: { ...order, hot: order.hot.map(({ name }) => name) } }),
          };
        }),
    },
    null,
    2,
  )}\n`;
}

function findingJson({ object, also, ...finding }: WasteFinding): object {
  return {
    ...finding,
    library: finding.library ?? null,
    object: object && {
      type: object.site.type ?? null,
      blocks: object.site.blocks,
      element: object.site.element,
      fields: object.fields,
    },
    also: also && findingJson(also),
    ...sentencesOf({ ...finding, object, also }),
  };
}

/** Whether the tool followed anything: zeros of a run that it did not follow would be no figures. */
function isRecorded({ modules }: WasteFile): boolean {
  return modules === undefined || modules.length > 0;
}

/** A table of pairs as JSON (docs/report-json.md). */
export function wastePairsJson(
  file: WasteFile,
  options: { input: string; table: PairTable; rows: number },
): string {
  const pairs = rankPairs(file, options.table);
  return `${JSON.stringify(
    {
      schema: "memshade-waste-pairs",
      version: 1,
      input: options.input,
      of: options.table,
      notTracked: file.notTracked,
      total: isRecorded(file) ? pairs.reduce((sum, { bytes }) => sum + bytes, 0) : null,
      rows: pairs.slice(0, options.rows),
      rowsOmitted: Math.max(0, pairs.length - options.rows),
    },
    null,
    2,
  )}\n`;
}

/** A ranking of access sites as JSON (docs/report-json.md). */
export function wasteTopJson(
  file: WasteFile,
  options: { input: string; by: WasteKey; order: "largest" | "smallest"; rows: number },
): string {
  const ranking = rankWaste(file, options.by, options.order);
  const shown = ranking.slice(0, options.rows);
  return `${JSON.stringify(
    {
      schema: "memshade-waste-top",
      version: 1,
      input: options.input,
      by: options.by,
      unit: options.by === "dead" ? "bytes" : options.by === "silent" ? "stores" : "loads",
      order: options.order,
      notTracked: file.notTracked,
      total: isRecorded(file) ? ranking.reduce((sum, { value }) => sum + value, 0) : null,
      rows: shown,
      rowsOmitted: ranking.length - shown.length,
    },
    null,
    2,
  )}\n`;
}
