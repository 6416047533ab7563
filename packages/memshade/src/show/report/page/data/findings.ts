import type { PlaceFrame } from "../../../../explain/findings/finding-kind.ts";
import { type Finding, kindOf, weightOf, wholeOfPart } from "../../../../explain/findings/index.ts";
import { MODULE_SPAN, type WasteFile } from "../../../../profile/model/waste/waste.ts";
import { findingInWords } from "../../findings/finding-lines.ts";
import type { PageObjects } from "./collected-objects.ts";
import type { WasteContexts } from "./objects.ts";
import type { PageBuilder } from "./page-builder.ts";
import type { PageFinding } from "./page-data.ts";

/** The page's contexts of what the tools recorded, numbered as the builder did. */
export interface RecordedContexts {
  readonly heap?: Int32Array | undefined;
  /** By the index of their types, of all modules together. */
  readonly objects?: PageObjects | undefined;
  readonly waste?: { readonly file: WasteFile; readonly contexts: WasteContexts } | undefined;
}

/** A finding before contexts are merged: these are numbers of the builder. */
export interface BuiltFinding extends Omit<PageFinding, "contexts" | "objects"> {
  readonly contexts: readonly number[];
}

/** Findings with the frames and contexts that they are about. */
export function builtFindings(
  builder: PageBuilder,
  findings: readonly Finding[],
  recorded: RecordedContexts,
): BuiltFinding[] {
  const { heap, waste, objects } = recorded;
  const contextsOf: Readonly<Record<Finding["tool"], (of: Finding, own: number) => readonly number[]>> = {
    heap: (finding, own) =>
      kindOf(finding).isOfVariable
        ? []
        : [...(heap ?? [])].filter((context) => isAt(builder, context, own, false)),
    waste: (finding, own) =>
      (kindOf(finding).waste?.rows ?? []).flatMap((rows) =>
        [...waste!.contexts[rows]].filter((context) => isAt(builder, context, own, true)),
      ),
    objects: (finding) => objects?.contextsOf(finding) ?? [],
  };
  return findings.map((finding): BuiltFinding => {
    const { kind, tool, place, amount, unit, part, ...details } = finding;
    const path = place.path.map((frame) => frameOf(builder, frame));
    const contexts = contextsOf[tool](finding, path[0]!);
    return {
      kind,
      tool,
      amount,
      unit,
      part,
      path,
      details,
      partOf: wholeOfPart(finding),
      says: findingInWords(finding, { isShort: true }),
      advice: kindOf(finding).advice,
      ...(place.via === undefined ? {} : { via: frameOf(builder, place.via) }),
      weight: weightOf(finding),
      contexts: [...new Set([...contexts, ...clearedBy(finding, contexts, recorded)])],
    };
  });
}

/** The stores that allocate blocks, as calls of calloc do, where the kind counts them: what these clear is theirs. */
function clearedBy(finding: Finding, blocks: readonly number[], { waste }: RecordedContexts): number[] {
  const stores = kindOf(finding).waste?.storesOfBlocks;
  if (stores === undefined || waste === undefined) return [];
  const { file, contexts } = waste;
  const told = new Set(blocks);
  const calls = new Set(
    (file.blocks ?? []).flatMap(({ ips }, row) => (told.has(contexts.blocks[row]!) ? [ips[0]!.address] : [])),
  );
  return file.stores.flatMap((store, row) =>
    store.class === stores && calls.has(store.ips[0]!.address) ? [contexts.stores[row]!] : [],
  );
}

/** Whether a context's site is the line of a frame; without lines the frame itself, or, of `functions`, its function. */
function isAt(builder: PageBuilder, context: number, own: number, functions: boolean): boolean {
  const site = builder.siteOf(context);
  if (site < 0) return false;
  const at = builder.frameOf(site);
  if (at === own) return true;
  const [one, other] = [builder.frameRow(at), builder.frameRow(own)];
  const isSame = one.function === other.function && one.file === other.file && one.module === other.module;
  const { line = 0 } = other;
  return isSame && (one.line ?? 0) === line && (line > 0 || functions);
}

function frameOf(builder: PageBuilder, { function: name, file, line, address }: PlaceFrame): number {
  const module = address === undefined ? undefined : Math.floor(address / MODULE_SPAN);
  const offset = address === undefined ? undefined : address % MODULE_SPAN;
  return builder.knownFrame({ name, module, address: offset, file, line });
}
