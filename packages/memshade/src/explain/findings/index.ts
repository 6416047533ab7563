import { churn } from "./churn.ts";
import { cold } from "./cold.ts";
import { clear, dead } from "./dead.ts";
import { drag } from "./drag.ts";
import type { FindingKind, FindingSentence, Whole } from "./finding-kind.ts";
import { fragmentation } from "./fragmentation.ts";
import { growth } from "./growth.ts";
import { instances } from "./instances.ts";
import { leak } from "./leak.ts";
import { moved } from "./moved.ts";
import { neverRead } from "./never-read.ts";
import { overCapacity, sparse } from "./over-capacity.ts";
import { padding } from "./padding.ts";
import { peak } from "./peak.ts";
import { redundant } from "./redundant.ts";
import { silent } from "./silent.ts";
import { stackLeak } from "./stack-leak.ts";
import { unreadData } from "./unread-data.ts";
import { unreadField } from "./unread-field.ts";
import { unreadObjects } from "./unread-objects.ts";
import { unused } from "./unused.ts";
import { waiting } from "./waiting.ts";
import { writeOnly } from "./write-only.ts";

/** All kinds, in the order of the glossary. */
const ALL = [
  leak,
  waiting,
  instances,
  stackLeak,
  unused,
  neverRead,
  unreadData,
  unreadField,
  unreadObjects,
  churn,
  growth,
  overCapacity,
  sparse,
  peak,
  drag,
  fragmentation,
  dead,
  silent,
  redundant,
  clear,
  writeOnly,
  cold,
  padding,
  moved,
] as const;

type FoundBy<Kind> = Kind extends FindingKind<infer F> ? F : never;

/** A problem of the program that the user can fix. */
export type Finding = FoundBy<(typeof ALL)[number]>;

export type WasteToolFinding = Finding & { readonly tool: "waste" };

/** All kinds of findings. Each receives only findings of its own kind. */
export const KINDS = ALL as readonly unknown[] as readonly (FindingKind<Finding> & {
  readonly kind: Finding["kind"];
})[];

/** True if some kind searches the record of a tool. */
export function findsFrom(tool: string): boolean {
  return KINDS.some(({ sources }) => sources.some((source) => source === tool));
}

const BY_WORD = new Map<string, FindingKind<Finding>>(KINDS.map((kind) => [kind.kind, kind]));

export function kindOf({ kind }: { readonly kind: string }): FindingKind<Finding> {
  return BY_WORD.get(kind)!;
}

export function sentenceOf(finding: Finding): FindingSentence {
  return kindOf(finding).sentence(finding);
}

export function adviceOf(finding: Finding): string {
  return finding.advice ?? kindOf(finding).advice;
}

export function wholeOfPart(finding: Pick<Finding, "kind" | "tool">): Whole {
  return ofTool(finding)?.whole ?? kindOf(finding).whole;
}

/** Returns the measure that shows the amount of a finding. */
export function weightOf(finding: Pick<Finding, "kind" | "tool">): string {
  return ofTool(finding)?.weight ?? kindOf(finding).weight;
}

/** Returns the waste tool's rules of a kind, for findings of that tool. */
function ofTool({ kind, tool }: Pick<Finding, "kind" | "tool">): FindingKind<Finding>["waste"] {
  return tool === "waste" ? kindOf({ kind }).waste : undefined;
}
