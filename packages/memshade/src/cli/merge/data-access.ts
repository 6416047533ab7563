import { dataAccessProfile } from "../../explain/analyses/statics/data-access-profile.ts";
import { type StaticsReport, staticsReport } from "../../explain/analyses/statics/static-objects.ts";
import type { MergeInput } from "../../names/memprof/inputs.ts";
import type { DataAccessProfile } from "../../profile/model/memprof/index.ts";
import { loadNamedStatics } from "../../runs/statics.ts";
import type { MergeFlags } from "./flags.ts";
import { sayDataAccessLeftOut } from "./say-written.ts";

/**
 * What runs among the inputs recorded of accesses to static data, as LLVM's data access profile; undefined if none did. Only version 4
 * has room for it.
 *
 * @throws UserError where the file of one of them is missing or damaged
 */
export function dataAccessOf(
  inputs: readonly MergeInput[],
  { binary, search, format, memprofVersion }: MergeFlags,
): DataAccessProfile | undefined {
  const places = { binaryPaths: [...binary, ...search] };
  const reports = inputs.flatMap(({ path }): StaticsReport[] => {
    const named = loadNamedStatics(path, places);
    return named === undefined ? [] : [staticsReport(named)];
  });
  if (reports.length === 0) return undefined;
  const profile = dataAccessProfile(reports);
  if (format !== "indexed" || memprofVersion >= 4) return profile;
  sayDataAccessLeftOut(profile);
  return undefined;
}
