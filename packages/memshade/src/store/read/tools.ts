import { ownDepth, ownPlace } from "../../explain/analyses/frames/own-place.ts";
import type { WasteFile, WasteFrame, WasteIp } from "../../profile/model/waste/waste.ts";
import type { StackFrame, WorkingSetProfile } from "../../profile/model/working-set/working-set.ts";
import type { StoredFrame, StoredLayout, StoredWaste, StoredWorkingSet } from "../stored-run.ts";
import { sourceFrame } from "./source-frame.ts";

/** Places where something was stored or loaded for nothing, and all bytes that were overwritten unread. */
export function wasteOf(waste: WasteFile): {
  readonly rows: readonly StoredWaste[];
  readonly layouts: readonly StoredLayout[];
  readonly bytes: number;
} {
  const blocks = waste.blocks ?? [];
  const rows = [
    ...waste.stores.flatMap(({ ips, dead_overwritten, bytes_silent, nof_silent, nof_stores }) => [
      row("dead", ips, dead_overwritten, nof_stores),
      row("silent", ips, bytes_silent, nof_silent),
    ]),
    ...waste.loads.map(({ ips, bytes_redundant = 0, nof_redundant = 0 }) =>
      row("redundant", ips, bytes_redundant, nof_redundant),
    ),
    ...blocks.map(({ ips, unread_bytes, unread_blocks }) =>
      row("unread-blocks", ips, unread_bytes, unread_blocks),
    ),
    ...blocks.map(({ ips, never_read, blocks: count }) => row("never-read", ips, never_read, count)),
  ];
  const layouts = blocks.flatMap(({ ips, type, element, bytes, fields }): StoredLayout[] =>
    element === undefined || fields === undefined
      ? []
      : [{ place: placeOf(ips), type: type?.name, element, bytes, fields }],
  );
  return { rows: rows.filter(({ bytes }) => bytes > 0), layouts, bytes: waste.totals.deadOverwritten };
}

function row(kind: string, ips: readonly WasteIp[], bytes: number, count: number): StoredWaste {
  return { kind, place: placeOf(ips), bytes, count };
}

/** The program's own place on the way to one. */
function placeOf(ips: readonly WasteIp[]): StoredFrame {
  const own = ownPlace<WasteFrame>(ips);
  const { address = 0, module } = ips[own?.depth ?? 0] ?? {};
  return sourceFrame(own?.frame ?? ips[0] ?? {}, address % 2 ** 32, module);
}

/** The working set of all instances, one after the other, at the finest scale. */
export function workingSetOf({ instances, lineBytes }: WorkingSetProfile): {
  readonly rows: readonly StoredWorkingSet[];
  readonly largest: number;
} {
  const rows = instances.flatMap(({ levels: [finest], owners, fill }): StoredWorkingSet[] => {
    const places = owners?.contexts.map(({ kind, stack }) => (kind === "code" ? ownFrame(stack) : undefined));
    return (finest?.start ?? []).map((start, index) => ({
      start,
      accesses: finest!.end[index]! - start,
      bytes: (finest!.counts.lines?.[index] ?? 0) * lineBytes,
      touchedBytes: fill?.levels[0]?.bytes[index],
      owners: (owners?.levels[0]?.intervals[index] ?? []).flatMap(([context, lines]) => {
        const place = places![context];
        return place === undefined ? [] : [{ place, lines }];
      }),
    }));
  });
  return { rows, largest: rows.reduce((most, { bytes }) => Math.max(most, bytes), 0) };
}

function ownFrame(
  stack: readonly (StackFrame & { readonly library?: string | undefined })[],
): StoredFrame | undefined {
  const frame = stack[Math.max(0, ownDepth(stack.map(({ library }) => library)))];
  return (
    frame && sourceFrame({ ...frame, function: frame.name ?? `func[${frame.function}]` }, frame.offset ?? 0)
  );
}
