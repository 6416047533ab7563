import { fieldOrder, objectsByPlace } from "../../../explain/analyses/waste.ts";
import type { Finding } from "../../../explain/findings/index.ts";
import type { WasteFinding } from "../../../explain/findings/waste/waste-finding.ts";
import { sentencesOf, wasteFindings } from "../../../explain/findings/waste/waste-findings.ts";
import type { Presence } from "../../../profile/model/run.ts";
import type { WasteFile } from "../../../profile/model/waste.ts";
import { findingsJson } from "./findings.ts";
import { presenceJson } from "./presence.ts";

/** Formats the waste of a run as JSON: totals and findings (docs/report-json.md). */
export function wasteReportJson(
  file: WasteFile,
  options: {
    input: string;
    rows: number | undefined;
    presence?: Presence | undefined;
    /** Findings of the run; undefined if they are not written here. */
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

/** True if the tool recorded a module; otherwise zeros would be no figures. */
function isRecorded({ modules }: WasteFile): boolean {
  return modules === undefined || modules.length > 0;
}
