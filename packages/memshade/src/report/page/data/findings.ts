import type { Finding, PlaceFrame } from "../../../analyses/findings/finding.ts";
import { MODULE_SPAN, type WasteFile } from "../../../model/waste/waste.ts";
import { findingInWords } from "../../findings/finding-lines.ts";
import { glossaryEntry } from "../../glossary.ts";
import type { PageObjects } from "./collected-objects.ts";
import type { PageBuilder } from "./page-builder.ts";
import type { PageFinding } from "./page-data.ts";
import type { WasteContexts } from "./waste.ts";

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

/** The weight that shows how much a finding is about. */
const WEIGHTS: { readonly [Kind in Finding["kind"]]: string | undefined } = {
  leak: "left",
  unused: "unused",
  "never-read": "neverRead",
  churn: "temporary",
  drag: "kept",
  growth: "copied",
  "over-capacity": "spare",
  peak: "peak",
  dead: "dead",
  clear: "dead",
  silent: "silent",
  redundant: "redundant",
  "write-only": "unread",
  cold: "unread",
  moved: "moved",
  "unread-data": undefined,
  "unread-field": "objectBytes",
  "unread-objects": "objectBytes",
};

/** Findings with the frames and contexts that they are about. */
export function builtFindings(
  builder: PageBuilder,
  findings: readonly Finding[],
  recorded: RecordedContexts,
): BuiltFinding[] {
  return findings.map((finding): BuiltFinding => {
    const { kind, tool, place, amount, unit, part, ...details } = finding;
    const path = place.path.map((frame) => frameOf(builder, frame));
    const contexts =
      finding.tool === "objects"
        ? (recorded.objects?.contextsOf(finding) ?? [])
        : contextsOf(finding, recorded).filter((context) =>
            isAt(builder, context, path[0]!, tool === "waste"),
          );
    const weight = tool === "waste" && kind === "never-read" ? "unread" : WEIGHTS[kind];
    const advice = glossaryEntry(kind)?.advice;
    return {
      ...{ kind, tool, amount, unit, part, path, details },
      says: findingInWords(finding, { isShort: true }),
      ...(advice === undefined ? {} : { advice }),
      ...(place.via === undefined ? {} : { via: frameOf(builder, place.via) }),
      ...(weight === undefined ? {} : { weight }),
      contexts: [...new Set([...contexts, ...clearedBy(finding, contexts, recorded)])],
    };
  });
}

/** All contexts of the sort that a finding is about. */
function contextsOf({ kind, tool }: Finding, { heap, waste }: RecordedContexts): number[] {
  if (tool === "heap") return [...(kind === "unread-data" ? [] : (heap ?? []))];
  const { stores, loads, blocks, reallocations } = waste!.contexts;
  switch (kind) {
    case "redundant":
      return [...loads];
    case "moved":
      return [...reallocations];
    case "dead":
    case "silent":
      return [...stores];
    case "clear":
      return [...blocks, ...stores];
    default:
      return [...blocks];
  }
}

/** The calls of calloc behind blocks: what these clear is theirs. */
function clearedBy({ kind }: Finding, blocks: readonly number[], { waste }: RecordedContexts): number[] {
  if (kind !== "clear" || waste === undefined) return [];
  const { file, contexts } = waste;
  const told = new Set(blocks);
  const calls = new Set(
    (file.blocks ?? []).flatMap(({ ips }, row) => (told.has(contexts.blocks[row]!) ? [ips[0]!.address] : [])),
  );
  return file.stores.flatMap((store, row) =>
    store.class === "calloc" && calls.has(store.ips[0]!.address) ? [contexts.stores[row]!] : [],
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
