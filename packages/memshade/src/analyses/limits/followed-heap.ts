import type { RecordedTools } from "../findings/run-findings.ts";

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
