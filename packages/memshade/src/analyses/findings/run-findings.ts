import type { HeapProfile } from "../../model/heap-profile.ts";
import type { WasteFile } from "../../model/waste/waste.ts";
import type { WorkingSetProfile } from "../../model/working-set/working-set.ts";
import { churnFindings } from "./churn.ts";
import { dragFindings } from "./drag.ts";
import type { Finding } from "./finding.ts";
import { leakFindings } from "./leak.ts";
import { rankFindings } from "./rank.ts";
import { unusedFindings } from "./unused.ts";
import { writesInVain } from "./waste.ts";

/** What the tools recorded of one run, with frames that say whose they are. */
export interface RecordedTools {
  readonly heap?: HeapProfile | undefined;
  readonly waste?: WasteFile | undefined;
  readonly workingset?: WorkingSetProfile | undefined;
}

/** What a person can act on, over all tools of a run: the first screen of its report. */
export function runFindings({ heap, waste }: RecordedTools): Finding[] {
  return rankFindings([
    ...(heap === undefined
      ? []
      : [...leakFindings(heap), ...unusedFindings(heap), ...churnFindings(heap), ...dragFindings(heap)]),
    ...(waste === undefined ? [] : writesInVain(waste)),
  ]);
}
