import type { WasteFile, WasteIp } from "../../model/waste/waste.ts";
import { fromOwn } from "../frames/own-place.ts";
import { StackCollector, type StackFrame, type StackMetric, type WeightedStacks } from "./weighted-stacks.ts";

/** What paths of the waste tool are weighed by, and how a store or a load tells it. */
export const WASTE_METRICS: readonly StackMetric[] = [
  { key: "dead", title: "dead bytes", head: "DEAD", unit: "bytes" },
  {
    key: "dead-ended",
    title: "bytes unread when their block, frame or run ended",
    head: "ENDED",
    unit: "bytes",
  },
  { key: "silent", title: "silent stores", head: "SILENT", unit: "count" },
  { key: "redundant", title: "redundant loads", head: "REDUNDANT", unit: "count" },
  { key: "written", title: "bytes written", head: "WRITTEN", unit: "bytes" },
  { key: "stores", title: "stores", head: "STORES", unit: "count" },
  { key: "loads", title: "loads", head: "LOADS", unit: "count" },
];

/** Values by the keys of {@link WASTE_METRICS}; what is not said is 0. */
export type WasteValues = Readonly<Partial<Record<string, number>>>;

/** Every place that stores or loads: its path from the program's own code outwards, and its values. */
export function* wastePlaces({
  stores,
  loads,
}: WasteFile): Generator<{ path: StackFrame[]; values: WasteValues }> {
  for (const store of stores)
    yield {
      path: pathOf(store.ips),
      values: {
        dead: store.dead_overwritten,
        "dead-ended": store.dead_deallocated + store.dead_exit,
        silent: store.nof_silent,
        written: store.bytes_written,
        stores: store.nof_stores,
      },
    };
  for (const { ips, nof_silent, nof_redundant: redundant = nof_silent, nof_loads } of loads)
    yield { path: pathOf(ips), values: { redundant, loads: nof_loads } };
}

/** The call paths to stores and loads, where contexts were recorded; without them, what each place is inlined into. */
export function wasteStacks(file: WasteFile): WeightedStacks {
  const collector = new StackCollector();
  for (const { path, values } of wastePlaces(file))
    collector.addPath(
      path,
      WASTE_METRICS.map(({ key }) => values[key] ?? 0),
    );
  const gaps = file.options.contexts ? [] : ["Who called is not known: record with --tool waste --contexts."];
  return collector.finish({ tool: "waste", metrics: WASTE_METRICS, gaps });
}

function pathOf(ips: readonly WasteIp[]): StackFrame[] {
  const frames = ips.flatMap((ip): StackFrame[] => {
    const { function: name, module, file, line, startLine, address, library } = ip;
    const inlined = (ip.inlined ?? []).map((frame) => ({ ...frame, module, address }));
    return [{ function: name, module, file, line, startLine, address, library }, ...inlined];
  });
  return [...fromOwn(frames).stack];
}
