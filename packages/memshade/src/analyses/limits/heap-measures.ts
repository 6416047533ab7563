import type { HeapProfile } from "../../model/heap-profile.ts";
import { knowsField } from "../../model/known-fields.ts";
import { draggedBlocks } from "../dragged-blocks.ts";
import type { RecordedTools } from "../findings/run-findings.ts";
import { copiedBytes, spareBytes } from "../growth.ts";
import { leaks, liveAtPeak } from "../leaks.ts";
import { reachOf } from "../live-blocks.ts";
import { temporaryBlocks } from "../temporary.ts";
import { heapTotals } from "../totals.ts";
import { neverAccessed, writtenNeverRead } from "../unused-blocks.ts";
import { whyHeapUnknown } from "./followed-heap.ts";
import { added, type Measure, type Measured } from "./measure.ts";
import { heapPlaces, type MeasuredPlace } from "./measured-place.ts";

const HEAP = "a run with --tool heap (the default)";
const HEAP_OR_ALLOC = "a run with --tool heap (the default) or alloc";

/** What a column of the context table adds up to; `whole` where the run counts more than its contexts do. */
interface Column {
  readonly amounts: ArrayLike<number> | ArrayLike<bigint>;
  readonly whole?: number | undefined;
}

type Read = (profile: HeapProfile) => Column | undefined;

function ofColumn(read: Read): Measure["measure"] {
  return ({ heap }, chosen) => {
    const column = heap && read(heap);
    if (heap === undefined || column === undefined) return undefined;
    const { amounts, whole } = column;
    const places = placesOf(heap).map((place, row) => ({ place, amount: Number(amounts[row]) }));
    return added(places, chosen, whole);
  };
}

/** A quotient of two columns, of all places together and of each. */
function ofQuotient(over: Read, under: Read): Measure["measure"] {
  return (run, chosen) => {
    const [dividend, divisor] = [ofColumn(over)(run, chosen), ofColumn(under)(run, chosen)];
    if (dividend === undefined || divisor === undefined) return undefined;
    return {
      amount: quotient(dividend.amount, divisor.amount),
      places: dividend.places.map(({ place, amount }, index) => ({
        place,
        amount: quotient(amount, divisor.places[index]!.amount),
      })),
    } satisfies Measured;
  };
}

const quotient = (over: number, under: number): number => (under === 0 ? 0 : over / under);

const known = new WeakMap<HeapProfile, MeasuredPlace[]>();

function placesOf(profile: HeapProfile): MeasuredPlace[] {
  let places = known.get(profile);
  if (places === undefined) {
    places = heapPlaces(profile);
    known.set(profile, places);
  }
  return places;
}

const bytes: Read = (profile) => ofMib(profile, "totalSize", heapTotals(profile).allocatedBytes);
const blocks: Read = (profile) => ofMib(profile, "allocCount", heapTotals(profile).allocations);
const accesses: Read = (profile) => ofMib(profile, "totalAccessCount");
const lifetimes: Read = (profile) => ofMib(profile, "totalLifetime");

function ofMib(
  profile: HeapProfile,
  field: "totalSize" | "allocCount" | "totalAccessCount" | "totalLifetime",
  whole?: number,
): Column | undefined {
  return knowsField(profile, field) ? { amounts: profile.contexts.mibs[field], whole } : undefined;
}

/** What is live at the end, without what suppressions took out. */
function left(profile: HeapProfile, what: "bytes" | "blocks"): Column | undefined {
  const live = leaks(profile)?.[what];
  const { site } = profile.contexts;
  const suppressed = what === "bytes" ? site?.suppressedBytes : site?.suppressedBlocks;
  const all = profile.description.totals?.[what === "bytes" ? "liveBytes" : "liveBlocks"];
  if (live === undefined) return undefined;
  if (suppressed === undefined) return { amounts: live, whole: all };
  const taken = suppressed.reduce((sum, amount) => sum + amount, 0);
  return {
    amounts: live.map((amount, row) => amount - suppressed[row]!),
    whole: all === undefined ? undefined : all - taken,
  };
}

function lost(profile: HeapProfile, what: "Bytes" | "Blocks"): Column | undefined {
  const { site } = profile.contexts;
  if (site === undefined || reachOf(profile) === undefined) return undefined;
  return { amounts: site[`lost${what}`].map((amount, row) => amount + site[`indirectlyLost${what}`][row]!) };
}

function peak(profile: HeapProfile, what: "bytes" | "blocks"): Column | undefined {
  const live = liveAtPeak(profile)?.[what];
  const { totals } = profile.description;
  return live && { amounts: live, whole: what === "bytes" ? totals?.peakBytes : totals?.peakBlocks };
}

function amounts(column: Float64Array | undefined): Column | undefined {
  return column && { amounts: column };
}

/** Blocks of which a profile tells all, and not only that there are at least so many. */
function allOf(
  measure: { readonly bytes: Float64Array; readonly isLowerBound: boolean } | undefined,
): Column | undefined {
  return measure === undefined || measure.isLowerBound ? undefined : { amounts: measure.bytes };
}

function clocksDiffer(older: RecordedTools, newer: RecordedTools): string | undefined {
  const [old, now] = [older.heap?.description.clock.unit, newer.heap?.description.clock.unit];
  return old === now ? undefined : `the two runs have different clocks, ${old} and ${now}`;
}

const MEASURES: readonly Measure[] = [
  {
    word: "peak",
    tool: "heap",
    unit: "bytes",
    what: "bytes of the blocks that were live when the heap was largest",
    partOf: "peak",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn((profile) => peak(profile, "bytes")),
  },
  {
    word: "peak-blocks",
    tool: "heap",
    unit: "blocks",
    what: "blocks that were live when the heap was largest",
    partOf: "peak-blocks",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn((profile) => peak(profile, "blocks")),
  },
  {
    word: "left",
    also: "live",
    tool: "heap",
    unit: "bytes",
    what: "bytes of the blocks that were live at the end, without suppressed ones",
    partOf: "bytes",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn((profile) => left(profile, "bytes")),
  },
  {
    word: "left-blocks",
    tool: "heap",
    unit: "blocks",
    what: "blocks that were live at the end, without suppressed ones",
    partOf: "blocks",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn((profile) => left(profile, "blocks")),
  },
  {
    word: "lost",
    tool: "heap",
    unit: "bytes",
    what: "bytes of live blocks to which no pointer is left, indirectly lost ones included",
    partOf: "bytes",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn((profile) => lost(profile, "Bytes")),
  },
  {
    word: "lost-blocks",
    tool: "heap",
    unit: "blocks",
    what: "live blocks to which no pointer is left, indirectly lost ones included",
    partOf: "blocks",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn((profile) => lost(profile, "Blocks")),
  },
  {
    word: "bytes",
    tool: "heap",
    unit: "bytes",
    what: "bytes that were allocated, all blocks together",
    partOf: "bytes",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn(bytes),
  },
  {
    word: "blocks",
    also: "count",
    tool: "heap",
    unit: "blocks",
    what: "blocks that were allocated",
    partOf: "blocks",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn(blocks),
  },
  {
    word: "temporary",
    tool: "heap",
    unit: "blocks",
    what: "blocks that were freed before the next but one allocation",
    partOf: "blocks",
    needs: HEAP_OR_ALLOC,
    differs: clocksDiffer,
    measure: ofColumn((profile) => {
      const found = temporaryBlocks(profile);
      return found === undefined || found.isLowerBound ? undefined : { amounts: found.blocks };
    }),
  },
  {
    word: "accesses",
    tool: "heap",
    unit: "accesses",
    what: "loads and stores of heap blocks",
    partOf: "accesses",
    needs: HEAP,
    measure: ofColumn(accesses),
  },
  {
    word: "density",
    tool: "heap",
    unit: "accessesPerByte",
    what: "accesses divided by bytes allocated",
    needs: HEAP,
    measure: ofQuotient(accesses, bytes),
  },
  {
    word: "lifetime",
    tool: "heap",
    unit: "clock",
    what: "mean lifetime of a block, in units of the heap's clock",
    needs: HEAP_OR_ALLOC,
    differs: clocksDiffer,
    measure: ofQuotient(lifetimes, blocks),
  },
  {
    word: "unaccessed",
    tool: "heap",
    unit: "bytes",
    what: "bytes of blocks that nobody read or wrote",
    partOf: "bytes",
    needs: HEAP,
    measure: ofColumn((profile) => allOf(neverAccessed(profile))),
  },
  {
    word: "unread",
    tool: "heap",
    unit: "bytes",
    what: "bytes of blocks that were written and that nobody read",
    partOf: "bytes",
    needs: HEAP,
    measure: ofColumn((profile) => allOf(writtenNeverRead(profile))),
  },
  {
    word: "dragged",
    tool: "heap",
    unit: "bytes",
    what: "bytes of blocks that spent most of their lives after their last access",
    partOf: "bytes",
    needs: HEAP,
    measure: ofColumn((profile) => allOf(draggedBlocks(profile))),
  },
  {
    word: "copied",
    tool: "heap",
    unit: "bytes",
    what: "bytes that were copied as blocks grew",
    partOf: "bytes",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn((profile) => amounts(copiedBytes(profile))),
  },
  {
    word: "spare",
    tool: "heap",
    unit: "bytes",
    what: "bytes of large blocks behind the last one that was used",
    partOf: "bytes",
    needs: HEAP,
    measure: ofColumn((profile) => amounts(spareBytes(profile))),
  },
];

export const HEAP_MEASURES: readonly Measure[] = MEASURES.map((measure) => ({
  ...measure,
  unknown: whyHeapUnknown,
}));
