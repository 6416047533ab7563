import type { CounterTrack } from "../model/sample-profile.ts";
import { MEASURES, type WorkingSetProfile } from "../model/working-set/working-set.ts";

/** Lines and what they are of, over time at the finest scale: of each instance, in bytes. */
export function workingSetCounters(profile: WorkingSetProfile): CounterTrack[] {
  const { modules, instances, lineBytes, unit } = profile;
  return instances.flatMap(({ module, instance, levels }) => {
    const [finest] = levels;
    if (finest === undefined) return [];
    const number = instances.length > 1 ? `, instance ${instance}` : "";
    const group = `working set of ${modules[module]?.name ?? "a module"}${number}`;
    // What holds for an interval is written at its beginning, and once more at the end of the last one.
    const held = (values: readonly number[]) => [...values, ...values.slice(-1)];
    const isTime = unit !== "accesses";
    // Nanoseconds would be too fine for viewers: microseconds are the finest that they show.
    const times = held(finest.start).map(
      (_, row) => (finest.start[row] ?? finest.end.at(-1)!) / (isTime ? 1000 : 1),
    );
    const track = (name: string, values: readonly number[]): CounterTrack => ({
      ...{ group, name, unit: "bytes", clock: isTime ? `µs (${unit})` : "access", times },
      values: held(values),
    });
    const measured = MEASURES.flatMap((measure) => {
      const lines = finest.counts[measure];
      if (lines === undefined || measure.startsWith("pages")) return [];
      const name = measure === "lines" ? "working set" : `working set: ${measure}`;
      return [
        track(
          name,
          lines.map((count) => count * lineBytes),
        ),
      ];
    });
    return [
      ...measured,
      track(
        "new lines",
        finest.fresh.map((count) => count * lineBytes),
      ),
    ];
  });
}
