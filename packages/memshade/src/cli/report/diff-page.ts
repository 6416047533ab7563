import { diffPage } from "../../report/page/data/diff-page.ts";
import type { PageData } from "../../report/page/data/page-data.ts";
import type { SourcesKept } from "../../report/page/data/sources.ts";
import type { Compared } from "../commands/diff.ts";
import { pageOf } from "./run-page.ts";

/** A comparison as a page. Sources are those of today, which the newer run is nearer to. */
export function pageOfDiff(
  { inputs, old, new: now, found, findings }: Compared,
  { sources }: { readonly sources: SourcesKept | undefined },
): PageData {
  return diffPage(
    { page: pageOf(old, inputs.old, found.old, { sources: "none" }), findings: found.old },
    { page: pageOf(now, inputs.new, found.new, { sources }), findings: found.new },
    findings,
  );
}
