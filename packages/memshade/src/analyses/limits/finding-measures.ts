import type { Finding } from "../findings/finding.ts";
import { findsAnything, type RecordedTools, runFindings } from "../findings/run-findings.ts";
import { whyHeapUnknown } from "./followed-heap.ts";
import { added, type Measure } from "./measure.ts";
import { findingPlace } from "./measured-place.ts";

const HEAP = "a run with --tool heap (the default)";
const WASTE = "a run with --tool waste";
const OBJECTS = "a run of a module with garbage-collected objects, recorded with --tool objects";

/** Kinds of findings by what a run needs to have them. */
const KINDS: {
  readonly [Kind in Finding["kind"]]: {
    readonly tools: readonly ("heap" | "waste" | "objects")[];
    readonly needs: string;
  };
} = {
  leak: { tools: ["heap"], needs: HEAP },
  unused: { tools: ["heap"], needs: HEAP },
  "never-read": { tools: ["heap", "waste"], needs: `${HEAP} or waste` },
  churn: { tools: ["heap"], needs: HEAP },
  drag: { tools: ["heap"], needs: HEAP },
  growth: { tools: ["heap"], needs: HEAP },
  "over-capacity": { tools: ["heap"], needs: HEAP },
  peak: { tools: ["heap"], needs: HEAP },
  "unread-data": { tools: ["heap"], needs: HEAP },
  dead: { tools: ["waste"], needs: WASTE },
  clear: { tools: ["waste"], needs: WASTE },
  silent: { tools: ["waste"], needs: WASTE },
  redundant: { tools: ["waste"], needs: WASTE },
  "write-only": { tools: ["waste"], needs: WASTE },
  cold: { tools: ["waste"], needs: WASTE },
  moved: { tools: ["waste"], needs: WASTE },
  "unread-field": { tools: ["objects"], needs: OBJECTS },
  "unread-objects": { tools: ["objects"], needs: OBJECTS },
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

/** The findings of a run, one each. */
function ofKinds(kinds: readonly Finding["kind"][]): Measure["measure"] {
  return (run, chosen) => {
    if (!kinds.some((kind) => KINDS[kind].tools.some((tool) => run[tool] !== undefined))) return undefined;
    const places = findingsOf(run)
      .filter(({ kind }) => kinds.includes(kind))
      .map((finding) => ({ place: findingPlace(finding), amount: 1 }));
    return added(places, chosen);
  };
}

/** Findings that another tool has too are known without the heap. */
function unknownOf(kinds: readonly Finding["kind"][]): Measure["unknown"] {
  const tools = new Set(kinds.flatMap((kind) => KINDS[kind].tools));
  return (run) =>
    tools.has("heap") && ![...tools].some((tool) => tool !== "heap" && run[tool] !== undefined)
      ? whyHeapUnknown(run)
      : undefined;
}

const ALL = Object.keys(KINDS) as Finding["kind"][];

/** `findings`, and each kind of them by its own word, unless others have that. */
export function findingMeasures(taken: ReadonlySet<string>): Measure[] {
  return [
    {
      word: "findings",
      tool: "findings",
      unit: "findings",
      what: "what a report's summary tells, all of it; [kind=WORD] for one kind",
      needs: "a run with --tool heap or waste",
      unknown: unknownOf(ALL),
      measure: ofKinds(ALL),
    },
    ...ALL.filter((kind) => !taken.has(kind)).map(
      (kind): Measure => ({
        word: kind,
        tool: "findings",
        unit: "findings",
        what: `findings of the kind ${kind} (memshade explain ${kind})`,
        needs: KINDS[kind].needs,
        unknown: unknownOf([kind]),
        measure: ofKinds([kind]),
      }),
    ),
  ];
}
