import type { HeapProfile } from "../../../profile/model/heap-profile.ts";
import { isOfNativeProgram, knowsField } from "../../../profile/model/known-fields.ts";
import { liveBlocksOf } from "../live-blocks.ts";
import type { RecordedTools } from "../recorded-tools.ts";

interface FollowedModule {
  readonly allocator?: { readonly how: string; readonly refused?: string | undefined } | undefined;
}

/** Whether blocks were seen at all: of a run whose modules have code and no allocator that was found, nothing is known, also not 0. */
export function areBlocksSeen(modules: readonly FollowedModule[]): boolean {
  const known = modules.flatMap(({ allocator }) => allocator ?? []);
  return known.length === 0 || known.some((allocator) => !isGivenUp(allocator));
}

function isGivenUp({ how, refused }: { how: string; refused?: string | undefined }): boolean {
  return how === "none" || refused !== undefined;
}

/** Why a run that was recorded with a tool for the heap has no figures of it; undefined: it has them. */
export function whyHeapUnknown({ heap }: RecordedTools): string | undefined {
  if (heap === undefined || areBlocksSeen(heap.modules)) return undefined;
  const { notTracked } = heap.description;
  return `no allocator was followed, so that nothing is known of the heap. ${notTracked.join(" ")}`.trim();
}

/** Why a recorded heap does not tell which blocks are lost; undefined: it does. */
export function whyLostUnknown(heap: HeapProfile): string | undefined {
  if (heap.description.recordedBy === undefined || liveBlocksOf(heap, "definite") !== undefined)
    return undefined;
  const told = reachSentence(heap);
  if (told === undefined && isOfNativeProgram(heap)) return "pointers to blocks were not looked for";
  return `pointers to blocks could not be looked for. ${told ?? heap.description.notTracked.join(" ")}`.trim();
}

/** The sentence of a recorded heap that says why it is not known which blocks are lost. */
export function reachSentence({ description: { notTracked } }: HeapProfile): string | undefined {
  return notTracked.find((sentence) => OF_REACH.test(sentence));
}

const OF_REACH = /^Whether .* lost or still reachable /;

/** Whether a profile tells which blocks were read and written. */
export function isUseKnown(profile: HeapProfile): boolean {
  const isCounted = knowsField(profile, "totalAccessCount") && knowsField(profile, "maxAccessCount");
  return isCounted || profile.contexts.site?.readBytes !== undefined;
}
