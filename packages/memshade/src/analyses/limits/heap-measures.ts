import type { HeapProfile } from "../../model/heap-profile.ts";
import type { RecordedTools } from "../findings/run-findings.ts";
import { type HeapColumn, type HeapColumnKey, heapColumn } from "../heap/heap-columns.ts";
import { whyHeapUnknown } from "./followed-heap.ts";
import { added, type Measure, type Measured } from "./measure.ts";
import { heapPlaces, type MeasuredPlace } from "./measured-place.ts";

const HEAP = "a run with --tool heap (the default)";
const HEAP_OR_ALLOC = "a run with --tool heap (the default) or alloc";

type Read = (profile: HeapProfile) => HeapColumn | undefined;

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

const columnOf =
  (key: HeapColumnKey): Read =>
  (profile) =>
    heapColumn(profile, key);

/** What a profile tells all of, and not only that there is at least so much. */
const allOf =
  (key: HeapColumnKey): Read =>
  (profile) => {
    const column = heapColumn(profile, key);
    return column?.isLowerBound ? undefined : column;
  };

/** What is live at the end, without what suppressions took out. */
function left(what: "Bytes" | "Blocks"): Read {
  return (profile) => {
    const live = heapColumn(profile, `live${what}`);
    const suppressed = profile.contexts.site?.[`suppressed${what}`];
    if (live === undefined || suppressed === undefined) return live;
    const taken = suppressed.reduce((sum, amount) => sum + amount, 0);
    return {
      amounts: suppressed.map((amount, row) => Number(live.amounts[row]) - amount),
      whole: live.whole === undefined ? undefined : live.whole - taken,
    };
  };
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
    measure: ofColumn(columnOf("peakBytes")),
  },
  {
    word: "peak-blocks",
    tool: "heap",
    unit: "blocks",
    what: "blocks that were live when the heap was largest",
    partOf: "peak-blocks",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn(columnOf("peakBlocks")),
  },
  {
    word: "left",
    also: "live",
    tool: "heap",
    unit: "bytes",
    what: "bytes of the blocks that were live at the end, without suppressed ones",
    partOf: "bytes",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn(left("Bytes")),
  },
  {
    word: "left-blocks",
    tool: "heap",
    unit: "blocks",
    what: "blocks that were live at the end, without suppressed ones",
    partOf: "blocks",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn(left("Blocks")),
  },
  {
    word: "lost",
    tool: "heap",
    unit: "bytes",
    what: "bytes of live blocks to which no pointer is left, indirectly lost ones included",
    partOf: "bytes",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn(columnOf("lostBytes")),
  },
  {
    word: "lost-blocks",
    tool: "heap",
    unit: "blocks",
    what: "live blocks to which no pointer is left, indirectly lost ones included",
    partOf: "blocks",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn(columnOf("lostBlocks")),
  },
  {
    word: "bytes",
    tool: "heap",
    unit: "bytes",
    what: "bytes that were allocated, all blocks together",
    partOf: "bytes",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn(columnOf("bytes")),
  },
  {
    word: "blocks",
    also: "count",
    tool: "heap",
    unit: "blocks",
    what: "blocks that were allocated",
    partOf: "blocks",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn(columnOf("blocks")),
  },
  {
    word: "temporary",
    tool: "heap",
    unit: "blocks",
    what: "blocks that were freed before the next but one allocation",
    partOf: "blocks",
    needs: HEAP_OR_ALLOC,
    differs: clocksDiffer,
    measure: ofColumn(allOf("temporaryBlocks")),
  },
  {
    word: "accesses",
    tool: "heap",
    unit: "accesses",
    what: "loads and stores of heap blocks",
    partOf: "accesses",
    needs: HEAP,
    measure: ofColumn(columnOf("accesses")),
  },
  {
    word: "density",
    tool: "heap",
    unit: "accessesPerByte",
    what: "accesses divided by bytes allocated",
    needs: HEAP,
    measure: ofQuotient(columnOf("accesses"), columnOf("bytes")),
  },
  {
    word: "lifetime",
    tool: "heap",
    unit: "clock",
    what: "mean lifetime of a block, in units of the heap's clock",
    needs: HEAP_OR_ALLOC,
    differs: clocksDiffer,
    measure: ofQuotient(columnOf("lifetimes"), columnOf("blocks")),
  },
  {
    word: "unaccessed",
    tool: "heap",
    unit: "bytes",
    what: "bytes of blocks that nobody read or wrote",
    partOf: "bytes",
    needs: HEAP,
    measure: ofColumn(allOf("neverAccessedBytes")),
  },
  {
    word: "unread",
    tool: "heap",
    unit: "bytes",
    what: "bytes of blocks that were written and that nobody read",
    partOf: "bytes",
    needs: HEAP,
    measure: ofColumn(allOf("neverReadBytes")),
  },
  {
    word: "dragged",
    tool: "heap",
    unit: "bytes",
    what: "bytes of blocks that spent most of their lives after their last access",
    partOf: "bytes",
    needs: HEAP,
    measure: ofColumn(allOf("draggedBytes")),
  },
  {
    word: "copied",
    tool: "heap",
    unit: "bytes",
    what: "bytes that were copied as blocks grew",
    partOf: "bytes",
    needs: HEAP_OR_ALLOC,
    measure: ofColumn(columnOf("copiedBytes")),
  },
  {
    word: "spare",
    tool: "heap",
    unit: "bytes",
    what: "bytes of large blocks behind the last one that was used",
    partOf: "bytes",
    needs: HEAP,
    measure: ofColumn(columnOf("spareBytes")),
  },
];

export const HEAP_MEASURES: readonly Measure[] = MEASURES.map((measure) => ({
  ...measure,
  unknown: whyHeapUnknown,
}));
