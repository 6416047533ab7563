import { isUseKnown, whyHeapUnknown } from "../analyses/heap/followed-heap.ts";
import { findsAnything, type RecordedTools } from "../analyses/recorded-tools.ts";
import type { FindingKind, FindingSource } from "../findings/finding-kind.ts";
import { type Finding, KINDS } from "../findings/index.ts";
import { runFindings } from "../findings/run-findings.ts";
import { FOUND_FIGURES } from "./bounds.ts";
import { added, type LimitMeasure } from "./measure.ts";
import { findingPlace } from "./measured-place.ts";

/** What a run needs to have data that findings are made of. */
const NEEDS: { readonly [Source in FindingSource]: string } = {
  heap: "a run with --tool heap or alloc",
  use: "a run with --tool heap",
  statics: "a run with --tool heap, of a module whose data has fixed addresses",
  waste: "a run with --tool waste",
  objects: "a run of a module with garbage-collected objects, recorded with --tool objects",
};

const known = new WeakMap<RecordedTools, readonly Finding[]>();

function findingsOf(run: RecordedTools): readonly Finding[] {
  let findings = known.get(run);
  if (findings === undefined) {
    findings = findsAnything(run) ? runFindings(run, Number.POSITIVE_INFINITY) : [];
    known.set(run, findings);
  }
  return findings;
}

const OF_BLOCKS: readonly FindingSource[] = ["heap", "use"];

function hasSource(run: RecordedTools, source: FindingSource): boolean {
  return source === "use" ? run.heap !== undefined && isUseKnown(run.heap) : run[source] !== undefined;
}

type Kind = Pick<FindingKind, "kind" | "sources">;

/** The findings of a run, one each. */
function ofKinds(kinds: readonly Kind[]): LimitMeasure["measure"] {
  return (run, chosen) => {
    if (!kinds.some(({ sources }) => sources.some((source) => hasSource(run, source)))) return undefined;
    const places = findingsOf(run)
      .filter((finding) => kinds.some(({ kind }) => kind === finding.kind))
      .map((finding) => ({ place: findingPlace(finding), amount: 1 }));
    return added(places, chosen);
  };
}

/** Findings that another tool has too are known without the heap. */
function unknownOf(kinds: readonly Kind[]): LimitMeasure["unknown"] {
  const sources = [...new Set(kinds.flatMap(({ sources }) => sources))];
  const others = sources.filter((source) => !OF_BLOCKS.includes(source));
  return (run) =>
    others.length < sources.length && !others.some((source) => hasSource(run, source))
      ? whyHeapUnknown(run)
      : undefined;
}

/** `findings`, and each kind of them by its own word, unless others have that. */
export function findingMeasures(taken: ReadonlySet<string>): LimitMeasure[] {
  return [
    {
      id: "findings",
      also: [],
      figures: FOUND_FIGURES,
      tool: "findings",
      unit: "findings",
      meaning: "what a report's summary tells, all of it; [kind=WORD] for one kind",
      needs: "a run with --tool heap, alloc, waste or objects",
      unknown: unknownOf(KINDS),
      measure: ofKinds(KINDS),
    },
    ...KINDS.filter(({ kind }) => !taken.has(kind)).map(
      (one): LimitMeasure => ({
        id: one.kind,
        also: [],
        figures: FOUND_FIGURES,
        tool: "findings",
        unit: "findings",
        meaning: `findings of the kind ${one.kind} (memshade explain ${one.kind})`,
        needs: [NEEDS[one.sources[0]!], ...one.sources.slice(1)].join(" or "),
        unknown: unknownOf([one]),
        measure: ofKinds([one]),
      }),
    ),
  ];
}
