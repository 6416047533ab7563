import { rowsOfContexts } from "../../../explain/analyses/over-time.ts";
import type { HeapProfile } from "../../../profile/model/heap-profile.ts";
import { csvCell } from "../../../profile/model/printable.ts";
import { framesOfContext } from "../../../profile/model/stacks.ts";
import { describeFrame } from "../frames.ts";

const COLUMNS = [
  "liveBytes",
  "liveBlocks",
  "maxBytes",
  "maxBlocks",
  "allocatedBytes",
  "freedBytes",
  "frees",
] as const;

/**
 * Yields the heap over time as a table: one line per interval of each instance, `start` and `end` in
 * allocations. After an empty line follows one line per context and interval with allocations or releases;
 * its live bytes are those at the interval's end.
 */
export function* heapCsvLines(profile: HeapProfile): Generator<string, void, undefined> {
  const instances = profile.overTime?.instances ?? [];
  const nameOf = (module: number): string => csvCell(profile.modules[module]?.name ?? "");
  yield ["instance", "module", "interval", "start", "end", "allocations", ...COLUMNS, "partial"].join(",");
  for (const { instance, module, intervals, lastIsPartial } of instances)
    for (const [i, start] of intervals.start.entries()) {
      const end = intervals.end[i]!;
      const partial = lastIsPartial && i === intervals.start.length - 1 ? 1 : 0;
      const figures = COLUMNS.map((column) => intervals[column][i]);
      yield [instance, nameOf(module), i, start, end, end - start, ...figures, partial].join(",");
    }
  yield "";
  yield "instance,module,interval,stackId,allocations,allocatedBytes,frees,freedBytes,liveBytes,liveBlocks,function,file,line,callers";
  const rows = rowsOfContexts(profile);
  for (const { instance, module, contexts } of instances)
    for (const context of contexts) {
      const row = rows.get(context.stackId);
      const frames = row === undefined ? [] : framesOfContext(profile, row);
      const [frame, ...callers] = frames.map((index) => describeFrame(profile, index));
      const place = [
        csvCell(frame?.function ?? ""),
        csvCell(frame?.file ?? ""),
        frame?.line ?? "",
        csvCell(callers.map((caller) => caller.function).join(" < ")),
      ];
      let bytes = context.startBytes;
      let blocks = context.startBlocks;
      for (const [k, interval] of context.intervals.entries()) {
        const allocations = context.allocations[k]!;
        const allocatedBytes = context.allocatedBytes[k]!;
        const frees = context.frees[k]!;
        const freedBytes = context.freedBytes[k]!;
        bytes += allocatedBytes - freedBytes;
        blocks += allocations - frees;
        yield [
          instance,
          nameOf(module),
          interval,
          context.stackId,
          allocations,
          allocatedBytes,
          frees,
          freedBytes,
          bytes,
          blocks,
          ...place,
        ].join(",");
      }
    }
}
