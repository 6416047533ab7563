import { UserError } from "../../../ground/bytes/errors.ts";
import {
  type Check,
  count,
  each,
  flag,
  list,
  oneOf,
  parseVersioned,
  record,
  text,
  textLike,
} from "../check.ts";
import {
  type ContextHeap,
  HEAP_INTERVALS_SCHEMA,
  HEAP_INTERVALS_VERSION,
  type HeapIntervalColumns,
  type HeapIntervals,
  type InstanceHeap,
} from "./heap-intervals.ts";

const counts = list(count);
const stackId = textLike(/^[0-9]{1,20}$/, "a decimal number in quotes");

const file: Check<HeapIntervals> = record<HeapIntervals>({
  schema: oneOf(HEAP_INTERVALS_SCHEMA),
  version: oneOf(HEAP_INTERVALS_VERSION),
  memshade: text,
  unit: oneOf("allocations"),
  instances: list(
    record<InstanceHeap>({
      ...each(count, "module", "instance", "period", "startBytes", "startBlocks", "otherContexts"),
      intervals: record<HeapIntervalColumns>({
        ...each(counts, "start", "end", "liveBytes", "liveBlocks", "maxBytes", "maxBlocks", "allocatedBytes"),
        ...each(counts, "freedBytes", "frees"),
        next: list(stackId),
      }),
      lastIsPartial: flag,
      contexts: list(
        record<ContextHeap>({
          stackId,
          startBytes: count,
          startBlocks: count,
          ...each(counts, "intervals", "allocations", "allocatedBytes", "frees", "freedBytes"),
        }),
      ),
    }),
  ),
  otherInstances: count,
});

/**
 * Reads the text of a `heapintervals.json`.
 *
 * @throws UserError with the mistake in one line, without the file's name
 */
export function readHeapIntervals(json: string): HeapIntervals {
  const predicate = "does not describe a heap over time";
  const checked = file(parseVersioned(json, HEAP_INTERVALS_SCHEMA, HEAP_INTERVALS_VERSION, predicate));
  checked.instances.forEach(({ intervals, contexts }, i) => {
    const rows = intervals.start.length;
    if (Object.values(intervals).some((column) => column.length !== rows))
      throw new UserError(`instances[${i}].intervals: the columns have different lengths`);
    contexts.forEach(({ intervals: own, allocations, allocatedBytes, frees, freedBytes }, k) => {
      const place = `instances[${i}].contexts[${k}]`;
      if ([allocations, allocatedBytes, frees, freedBytes].some(({ length }) => length !== own.length))
        throw new UserError(`${place}: the columns have different lengths`);
      if (own.some((interval, row) => interval >= rows || (row > 0 && interval <= own[row - 1])))
        throw new UserError(`${place}.intervals should be rising numbers of intervals`);
    });
  });
  return checked;
}
