import { type FieldOrder, fieldOrder, objectsByPlace } from "../../../explain/analyses/waste.ts";
import type { Finding } from "../../../explain/findings/index.ts";
import type { WasteFinding } from "../../../explain/findings/waste/waste-finding.ts";
import { sentencesOf, wasteFindings } from "../../../explain/findings/waste/waste-findings.ts";
import type { Presence } from "../../../profile/model/run.ts";
import type { WasteFile, WasteObjects, WasteType, WasteUnreadField } from "../../../profile/model/waste.ts";
import { type FindingJson, findingsJson } from "./findings.ts";
import { type PresenceJson, presenceJson } from "./presence.ts";
import { type CutJson, RankedList } from "./text.ts";

/** Waste of a run, with its findings. */
export interface WasteReportJson extends CutJson, Pick<WasteFile, "command" | "options" | "notTracked"> {
  /** Name and version of the format. */
  schema: "memshade-waste-report";
  version: 2;
  /** Run, as named on the command line. */
  input: string;
  /** Memory of the profiler, as far as known. */
  presence: PresenceJson | null;
  /** Followed modules, and the others with the reason. */
  modules: WasteFile["modules"] | null;
  notRecorded: NonNullable<WasteFile["notRecorded"]>;
  /** Sums over all sites; null if no module was followed. */
  totals: WasteFile["totals"] | null;
  /** Findings of the run; absent within the report of several tools. */
  summary: readonly FindingJson[] | undefined;
  /** Sites that waste memory operations, the costliest first. */
  findings: RankedList<WasteFindingJson>;
  /** Usually harmless waste that is no finding: kind, bytes and number of sites. */
  folded: readonly { readonly what: string; readonly bytes: number; readonly sites: number }[];
  /** Use of blocks, with `--objects`. */
  objects: RankedList<WasteObjectsJson> | undefined;
}

interface WasteFindingJson extends Omit<WasteFinding, "library" | "object" | "also"> {
  /** Library of the code; null for the program's own code, and for requests of the program to a library. */
  library: string | null;
  /** Blocks of a finding on blocks and their members: type, number, bytes of an element, and members. */
  object:
    | {
        readonly type: WasteType | null;
        readonly blocks: number;
        readonly element: number | undefined;
        readonly fields: readonly WasteUnreadField[];
      }
    | undefined;
  /** Other waste at the same location. */
  also: WasteFindingJson | undefined;
  /** Sentence, and the action to take. */
  says: string;
  advice: string;
}

interface WasteObjectsJson extends WasteObjects {
  /** Cost of the order of members, if the type is known. */
  order?: Omit<FieldOrder, "hot"> & { readonly hot: readonly (string | undefined)[] };
}

/** Returns the waste of a run for JSON: totals and findings (docs/report-json.md). */
export function wasteReportJson(
  file: WasteFile,
  options: {
    input: string;
    presence?: Presence | undefined;
    /** Findings of the run; undefined if they are not written here. */
    summary?: readonly Finding[] | undefined;
  },
): WasteReportJson {
  const { findings, folded } = wasteFindings(file);
  return {
    schema: "memshade-waste-report",
    version: 2,
    input: options.input,
    command: file.command,
    presence: presenceJson(options.presence),
    modules: file.modules ?? null,
    notRecorded: file.notRecorded ?? [],
    options: file.options,
    notTracked: file.notTracked,
    totals: isRecorded(file) ? file.totals : null,
    summary: options.summary && findingsJson(options.summary),
    findings: RankedList.of(findings, findingJson),
    folded,
    objects:
      file.objects &&
      RankedList.of(objectsByPlace(file.objects), (site) => {
        const order = fieldOrder(site);
        return {
          ...site,
          ...(order === undefined ? {} : { order: { ...order, hot: order.hot.map(({ name }) => name) } }),
        };
      }),
  };
}

function findingJson({ object, also, ...finding }: WasteFinding): WasteFindingJson {
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
