import { BLOCK_FIGURES, type Bound, unseenBounds } from "../../../../profile/model/bound.ts";
import { counted, groupDigits } from "../../../../profile/model/counted.ts";
import type { InstrumentedInfo } from "../../options.ts";
import type { ShadowTotals } from "./read-shadow.ts";

/** Result of the check that the functions found behave like an allocator. */
export interface Confirmation {
  /** null: nothing was allocated. */
  confirmed: boolean | null;
  refused?: string;
}

/**
 * Checks the blocks of a module's allocator: they are aligned, lie in memory, do not overlap, and are freed
 * only after their allocation.
 * Functions that only look like an allocator must pass without exception. Functions known by their names are
 * the allocator. But parts of it may allocate by other functions, and a host may restore an earlier state of
 * the memory. Such exceptions are counted in the notes, and the figures hold for all other blocks. If most
 * blocks are exceptions, the allocator is not confirmed.
 */
export function confirmAllocator(info: InstrumentedInfo, instances: readonly ShadowTotals[]): Confirmation {
  const sum = (field: keyof ShadowTotals): number =>
    instances.reduce((total, instance) => total + instance[field], 0);
  if (sum("allocations") === 0) return { confirmed: null };
  const excused = info.allocator.needsConfirmation ? 0 : sum("allocations") / 2;
  const faults: string[] = [];
  const addFault = (count: number, singular: string, plural: string): void => {
    if (count > excused) faults.push(counted(count, singular, plural));
  };
  // Functions that look like dlmalloc align like dlmalloc. An allocator known by its names may not: mimalloc
  // has blocks of 4 bytes.
  if (info.allocator.needsConfirmation)
    addFault(sum("misaligned"), "result was not aligned to 8 bytes", "results were not aligned to 8 bytes");
  addFault(sum("outside"), "block lay outside memory", "blocks lay outside memory");
  // Threads free blocks of other threads and get addresses that others freed, and each instance sees only its
  // own part.
  if (!info.sharedMemory || instances.length < 2) {
    addFault(sum("overlaps"), "block overlapped a live one", "blocks overlapped live ones");
    // A block with dlmalloc's header belongs to it, whichever function allocated it.
    addFault(
      sum("unmatchedFrees") - sum("unmatchedSized") + sum("earlierFrees") - sum("earlierSized"),
      "release named an address that was never handed out",
      "releases named addresses that were never handed out",
    );
  }
  if (faults.length === 0) return { confirmed: true };
  if (!info.allocator.needsConfirmation) return { confirmed: false };
  const named = info.allocator.functions.map(({ role, index }) => `${role} #${index}`).join(", ");
  return {
    confirmed: false,
    refused:
      `The functions that look like the allocator (${named}) did not behave like one: ${faults.join("; ")}. ` +
      "Name them with --allocator malloc=NAME|#INDEX,free=NAME|#INDEX.",
  };
}

/** Returns sentences about limits of the figures. Full tables are reported by `heap.overflow` instead. */
export function sentencesOf(instances: readonly ShadowTotals[]): string[] {
  const sum = (field: keyof ShadowTotals): number =>
    instances.reduce((total, instance) => total + instance[field], 0);
  const sentences: string[] = [];
  const addSentence = (count: number, singular: string, plural: string, rest: string): void => {
    if (count > 0) sentences.push(`${counted(count, singular, plural)}${rest}`);
  };
  addSentence(
    sum("meanwhile"),
    "allocation was",
    "allocations were",
    " made while the tables were read: some of these, and some blocks that were freed meanwhile, are missing.",
  );
  const sized =
    sum("earlierSized") === 0
      ? ""
      : ` (${groupDigits(sum("earlierBytes"))} B by the allocator's own headers)`;
  addSentence(
    sum("earlierFrees"),
    "block was",
    "blocks were",
    ` freed that existed before the start${sized}: no other figure counts them.`,
  );
  addSentence(
    sum("unmatchedFrees"),
    "block was freed",
    "blocks were freed",
    " whose allocation was not recorded.",
  );
  addSentence(
    sum("overlaps"),
    `of ${counted(sum("allocations"), "block")} was handed out over a live one`,
    `of ${counted(sum("allocations"), "block")} were handed out over live ones`,
    ": its release was not recorded, or the host has restored an earlier state of the memory.",
  );
  addSentence(
    sum("sharedGranules"),
    "time",
    "times",
    " two live blocks were in the same 8 bytes: their accesses cannot be separated.",
  );
  addSentence(sum("outside"), "block was", "blocks were", " outside the recorded memory.");
  addSentence(
    sum("histogramsDropped"),
    "block is",
    "blocks are",
    " missing from the histograms, whose table was full.",
  );
  addSentence(
    sum("nearlyFullCounters"),
    "granule was",
    "granules were",
    " accessed more than 1,000,000,000 times: counts above 2,147,483,647 start again at 0.",
  );
  if (instances.length > 1)
    sentences.push(
      `The peak is the sum of the peaks of ${instances.length} instances, which may have been at different times: it is an upper bound.`,
    );
  return sentences;
}

/**
 * Returns which figures of the heap are bounds instead of exact counts. Full tables are reported by
 * `heap.overflow` instead.
 */
export function boundsOfBlocks(instances: readonly ShadowTotals[]): Bound[] {
  const sum = (field: keyof ShadowTotals): number =>
    instances.reduce((total, instance) => total + instance[field], 0);
  const [meanwhile, unmatched, overlaps] = [sum("meanwhile"), sum("unmatchedFrees"), sum("overlaps")];
  const [outside, nearlyFull] = [sum("outside"), sum("nearlyFullCounters")];
  const bounds: Bound[] = [];
  if (meanwhile > 0)
    bounds.push({
      figures: BLOCK_FIGURES,
      are: "either",
      because: `${counted(meanwhile, "allocation was", "allocations were")} made while the profile was read`,
    });
  if (unmatched > 0)
    bounds.push({
      figures: ["allocated", "peak", "accesses"],
      are: "least",
      because: `${counted(unmatched, "block was freed", "blocks were freed")} whose allocation was not recorded`,
    });
  if (overlaps > 0)
    bounds.push({
      figures: ["peak", "left", "lost", "lives", "unused"],
      are: "either",
      because: `${counted(overlaps, "block was", "blocks were")} handed out over live ones, whose release was not recorded`,
    });
  if (outside > 0)
    bounds.push(
      ...unseenBounds(
        `${counted(outside, "block was", "blocks were")} outside the recorded memory`,
        BLOCK_FIGURES.filter((figure) => figure !== "allocated"),
      ),
    );
  if (nearlyFull > 0)
    bounds.push({
      figures: ["accesses"],
      are: "least",
      because: "counters of accesses may have wrapped",
    });
  if (instances.length > 1 && sum("peakBytes") > Math.max(...instances.map(({ peakBytes }) => peakBytes)))
    bounds.push({
      figures: ["peak"],
      are: "most",
      because: `the peak is the sum of the peaks of ${instances.length} instances, which may have been at different times`,
    });
  return bounds;
}
