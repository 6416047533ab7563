import { ownDepth } from "../../../analyses/frames/own-place.ts";
import type {
  Attribution,
  AttributionKind,
  InstanceWorkingSet,
  StackFrame,
  WorkingSetProfile,
} from "../../../model/working-set/working-set.ts";
import { localitySites } from "../../json/locality.ts";
import type { PageBuilder } from "./page-builder.ts";
import { FRAME_FLAGS } from "./page-data.ts";

/** The page's contexts of the instance whose intervals are shown. */
export interface WorkingSetContexts {
  readonly owners?: Int32Array | undefined;
  readonly firstTouch?: Int32Array | undefined;
}

/** What lines are charged to that are no code's. */
const NAMES: Readonly<Record<Exclude<AttributionKind, "code">, string>> = {
  host: "[the host]",
  stack: "[the stack]",
  static: "[static data]",
  heap: "[heap outside of blocks]",
  mapping: "[mapped files]",
  unknown: "[not known whose]",
};

/** Gives a page what `workingset.json` has of frames, contexts and weights. @returns contexts by instance */
export function addWorkingSet(builder: PageBuilder, profile: WorkingSetProfile): WorkingSetContexts[] {
  return profile.instances.map((instance) => {
    const named = profile.modules[instance.module];
    const module = named?.index ?? -1;
    if (named !== undefined && !builder.hasModule(module)) builder.module(module, { name: named.name });
    const owners = addAttribution(builder, module, instance.owners, {
      ...{ id: "owned", label: "lines of blocks touched", word: "working set" },
    });
    const firstTouch = addAttribution(builder, module, instance.firstTouch, {
      ...{ id: "firstTouch", label: "lines touched first", word: "first touch" },
    });
    addMisses(builder, module, instance);
    return { owners, firstTouch };
  });
}

function addAttribution(
  builder: PageBuilder,
  module: number,
  attribution: Attribution | undefined,
  kind: { readonly id: string; readonly label: string; readonly word: string },
): Int32Array | undefined {
  if (attribution === undefined) return undefined;
  const contexts = Int32Array.from(attribution.contexts, ({ kind: what, of, stack }) =>
    what === "code"
      ? contextOf(builder, module, stack)
      : pseudo(builder, of === undefined ? NAMES[what] : `${NAMES[what].slice(0, -1)}: ${of}]`),
  );
  const { contexts: others, total } = attribution.otherContexts;
  const all = attribution.contexts.map((context) => context.total);
  const weight = { ...kind, unit: "lines", tool: "workingset" } as const;
  builder.addWeight(weight, contexts, all);
  if (others > 0) builder.addWeight(weight, [pseudo(builder, `[${others} more places]`)], [total]);
  return contexts;
}

function addMisses(builder: PageBuilder, module: number, { locality }: InstanceWorkingSet): void {
  if (locality === undefined) return;
  const { rows, misses } = localitySites(locality);
  const contexts = locality.sites.map(({ frame, file, line }) =>
    frame === undefined
      ? pseudo(builder, "[bulk instructions]")
      : contextOf(builder, module, [{ ...frame, file: file ?? frame.file, line: line ?? frame.line }]),
  );
  const shared = { unit: "accesses", tool: "workingset", word: "miss ratio" } as const;
  const caution = locality.method === "exact" ? {} : { caution: "Estimated from a sample of all lines." };
  const missWeight = { id: "misses", label: "cache misses", ...shared, ...caution };
  builder.addWeight(
    missWeight,
    contexts,
    rows.map((row) => row.misses),
  );
  builder.addWeight(
    { id: "references", label: "references of instructions that miss", ...shared, ...caution },
    contexts,
    rows.map((row) => row.references),
  );
  const told = rows.reduce((sum, row) => sum + row.misses, 0);
  if (locality.otherSites.sites > 0)
    builder.addWeight(
      missWeight,
      [pseudo(builder, `[${locality.otherSites.sites} more places]`)],
      [misses - told],
    );
}

function pseudo(builder: PageBuilder, name: string): number {
  return builder.context(-1, builder.frame({ function: name, flags: FRAME_FLAGS.notCode }));
}

function contextOf(builder: PageBuilder, module: number, stack: readonly StackFrame[]): number {
  const context = builder.path(
    stack.map(({ function: index, offset, name = `func[${index}]`, file, line, library, isInlined }) =>
      builder.frame({
        ...{ function: name, module, address: offset, file, line, library },
        flags: isInlined ? FRAME_FLAGS.inlined : 0,
      }),
    ),
  );
  const depth = ownDepth(stack.map(({ library }) => library));
  let site = context;
  for (let left = depth; left > 0; left--) site = builder.callerOf(site);
  if (context >= 0 && depth >= 0) builder.setSite(context, site);
  return context;
}
