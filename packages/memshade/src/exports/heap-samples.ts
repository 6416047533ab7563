import { type HeapColumnKey, heapColumn } from "../analyses/heap/heap-columns.ts";
import type { HeapProfile, ProfileModule } from "../model/heap-profile.ts";
import type { IndexIntoContextTable } from "../model/indices.ts";
import { knowsField, siteColumn } from "../model/known-fields.ts";
import type { SampleFrame, SampleModule } from "../model/sample-profile.ts";
import { framesOfContext } from "../model/stacks.ts";
import { describeFrame, ofModule } from "../report/frames.ts";
import { gapsOf } from "../report/gaps.ts";
import { type ExportedSamples, exportedSamples, type Weight, type WeightColumn } from "./exported.ts";
import { allocationHistory, heapCounters } from "./heap-counters.ts";

/** What the stacks of a heap profile have, in the order of files: what readers look at first comes last. */
export const HEAP_WEIGHTS = {
  count: { key: "count", type: "alloc_objects", unit: "count", says: "blocks allocated" },
  bytes: { key: "bytes", type: "alloc_space", unit: "bytes", says: "bytes allocated" },
  accesses: { key: "accesses", type: "accesses", unit: "count", says: "accesses to the blocks" },
  temporary: {
    key: "temporary",
    type: "temporary_objects",
    unit: "count",
    says: "blocks that were freed before a second allocation followed theirs (by a real clock: within one unit)",
  },
  unused: {
    key: "unused",
    type: "unused_space",
    unit: "bytes",
    says: "bytes of blocks that nobody accessed",
  },
  unread: {
    key: "unread",
    type: "unread_space",
    unit: "bytes",
    says: "bytes of blocks that were written and never read",
  },
  readBytes: { key: "read", type: "read_bytes", unit: "bytes", says: "bytes read from the blocks" },
  writtenBytes: {
    key: "written",
    type: "written_bytes",
    unit: "bytes",
    says: "bytes written to the blocks",
  },
  copied: { key: "copied", type: "copied_space", unit: "bytes", says: "bytes copied as blocks grew" },
  spare: {
    key: "spare",
    type: "spare_space",
    unit: "bytes",
    says: "bytes of large blocks behind the last one used",
  },
  lostBlocks: {
    key: "lost-blocks",
    type: "lost_objects",
    unit: "count",
    says: "blocks that are lost at the end",
  },
  lost: {
    key: "lost",
    type: "lost_space",
    unit: "bytes",
    says: "bytes of blocks that are lost at the end, those that lost blocks lead to included",
  },
  peakBlocks: {
    key: "peak-blocks",
    type: "peak_objects",
    unit: "count",
    says: "blocks live when the heap was largest",
  },
  peak: { key: "peak", type: "peak_space", unit: "bytes", says: "bytes live when the heap was largest" },
  liveBlocks: { key: "live-blocks", type: "inuse_objects", unit: "count", says: "blocks live at the end" },
  live: { key: "live", type: "inuse_space", unit: "bytes", says: "bytes live at the end" },
} as const satisfies Record<string, Weight>;

/** The contexts of a heap profile in their order, by all that adds up. */
export function heapSamples(profile: HeapProfile): ExportedSamples {
  const { contexts, description, modules } = profile;
  const frames = new FrameWriter(profile);
  return exportedSamples({
    name: `heap of ${description.program ?? modules[0]?.name ?? "a program"}`,
    modules: modules.map((module, index) => moduleOf(module, frames.lastOffset(index))),
    stacks: Array.from({ length: contexts.length }, (_, context) =>
      framesOfContext(profile, context as IndexIntoContextTable).map((frame) => frames.of(frame)),
    ),
    columns: columnsOf(profile),
    shown: ["peak", "bytes", "live"],
    notes: [
      `Lifetimes and the order of events are by ${description.clock.kind === "virtual" ? "a virtual clock" : "a real clock"} of ${description.clock.unit}.`,
      ...gapsOf(profile),
    ],
    counters: heapCounters(profile),
    history: allocationHistory(profile),
  });
}

function columnsOf(profile: HeapProfile): WeightColumn[] {
  // Without accesses, none would be told as if none had been.
  const knowsUses =
    profile.contexts.site?.readBytes !== undefined ||
    (knowsField(profile, "totalAccessCount") && siteColumn(profile, "neverAccessedBytes") !== undefined);
  const of = (key: keyof typeof HEAP_WEIGHTS, column: HeapColumnKey): WeightColumn => {
    const { amounts: values, whole: total } = heapColumn(profile, column) ?? {};
    return { weight: HEAP_WEIGHTS[key], values, total };
  };
  return [
    of("count", "blocks"),
    of("bytes", "bytes"),
    of("accesses", "accesses"),
    of("temporary", "temporaryBlocks"),
    ...(knowsUses ? [of("unused", "neverAccessedBytes"), of("unread", "neverReadBytes")] : []),
    of("readBytes", "readBytes"),
    of("writtenBytes", "writtenBytes"),
    of("copied", "copiedBytes"),
    of("spare", "spareBytes"),
    of("lostBlocks", "lostBlocks"),
    of("lost", "lostBytes"),
    of("peakBlocks", "peakBlocks"),
    of("peak", "peakBytes"),
    of("liveBlocks", "liveBlocks"),
    of("live", "liveBytes"),
  ];
}

/** Addresses are offsets in the module's code, as in all reports. */
function moduleOf({ name, buildId, start, end }: ProfileModule, lastOffset: number): SampleModule {
  return { name, buildId, start: 0, end: Math.max(Number(end - start), lastOffset + 1) };
}

/** Frames of the table as files have them, each made once. */
class FrameWriter {
  readonly #profile: HeapProfile;
  readonly #known: (SampleFrame | undefined)[] = [];

  constructor(profile: HeapProfile) {
    this.#profile = profile;
  }

  of(frame: number): SampleFrame {
    this.#known[frame] ??= this.#make(frame);
    return this.#known[frame]!;
  }

  /** The largest offset of a frame in a module. */
  lastOffset(module: number): number {
    const { frames, functions } = this.#profile;
    let last = 0;
    for (let frame = 0; frame < frames.length; frame++)
      if (functions.module[frames.function[frame]!] === module) last = Math.max(last, frames.offset[frame]!);
    return last;
  }

  #make(index: number): SampleFrame {
    const profile = this.#profile;
    const frame = index as Parameters<typeof describeFrame>[1];
    const described = describeFrame(profile, frame);
    const module = profile.functions.module[profile.frames.function[frame]!]!;
    const { file, line, column, inlined, language, library, offset } = described;
    const name = `${described.function}${ofModule(profile, described)}`;
    // A frame of JavaScript has no address.
    const place = module < 0 ? {} : { address: offset, module };
    return { function: name, file, line, column, inlined, language, library, ...place };
  }
}
