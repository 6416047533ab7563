import { pageOf } from "../../runs/page/run-page.ts";
import { diffPage } from "../../show/report/page/data/diff-page.ts";
import type { PageData } from "../../show/report/page/data/page-data.ts";
import type { SourcesKept } from "../../show/report/page/data/sources.ts";
import type { Compared } from "../diff/run-diff.ts";

/** Builds the page of a comparison. It has the current sources, which match the newer run better. */
export function pageOfDiff(
  { inputs, old, new: now, found, findings, gaps }: Compared,
  {
    sources,
    binaryPaths,
  }: { readonly sources: SourcesKept | undefined; readonly binaryPaths: readonly string[] | undefined },
): PageData {
  const page = diffPage(
    {
      page: pageOf(old[0]!, inputs.old[0]!, found.old, { sources: "none", binaryPaths }),
      findings: found.old,
    },
    { page: pageOf(now[0]!, inputs.new[0]!, found.new, { sources, binaryPaths }), findings: found.new },
    findings,
  );
  return { ...page, head: { ...page.head, notTracked: [...gaps, ...page.head.notTracked] } };
}
