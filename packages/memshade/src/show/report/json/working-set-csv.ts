import { csvCell } from "../../../profile/model/printable.ts";
import {
  type Attribution,
  MEASURES,
  type StackFrame,
  type WorkingSetProfile,
} from "../../../profile/model/working-set/working-set.ts";
import { curveSizes, missRatioCurve } from "./locality.ts";

/**
 * Formats all series as a table: one line per interval of each instance and scale. `start` and `end` are in
 * the profile's unit (nanoseconds for time), the measures in lines or pages. `bytes` is lines × 64,
 * `touchedBytes` the distinct bytes touched, if counted. `partial` is 1 if the run ended before the interval.
 */
export function workingSetCsv(profile: WorkingSetProfile): string {
  const header = ["instance", "module", "factor", "interval", "unit", "start", "end", "bytes", ...MEASURES];
  const rows = [[...header, "new", "partial", "function", "touchedBytes"].join(",")];
  for (const { instance, module, levels, stackOf, stacks, fill } of profile.instances)
    levels.forEach((level, scale) => {
      level.start.forEach((start, i) => {
        const lines = level.counts.lines?.[i] ?? 0;
        const stack = level.factor === 1 ? stacks[stackOf[i]] : undefined;
        const isLast = i === level.start.length - 1;
        rows.push(
          [
            instance,
            csvCell(profile.modules[module]?.name ?? ""),
            level.factor,
            i,
            profile.unit,
            start,
            level.end[i],
            lines * profile.lineBytes,
            ...MEASURES.map((measure) => level.counts[measure]?.[i] ?? ""),
            level.fresh[i],
            isLast && level.lastIsPartial ? 1 : 0,
            csvCell(functionOf(stack?.[0])),
            fill?.levels[scale]?.bytes[i] ?? "",
          ].join(","),
        );
      });
    });
  return `${[...rows, ...attributionRows(profile), ...curveRows(profile)].join("\n")}\n`;
}

/**
 * Returns, after an empty line, the owners of each interval's lines: the listed contexts, and the rest as
 * `others`.
 */
function attributionRows({ instances, modules }: WorkingSetProfile): string[] {
  const rows: string[] = [];
  for (const { instance, module, firstTouch, owners } of instances)
    for (const [what, attribution] of Object.entries({ firstTouch, owners }))
      for (const { factor, intervals, others } of attribution?.levels ?? [])
        intervals.forEach((listed, i) => {
          const start = [instance, csvCell(modules[module]?.name ?? ""), factor, i, what];
          for (const [number, lines] of listed) {
            const { kind, of, stack } = (attribution as Attribution).contexts[number];
            const [frame, ...callers] = stack;
            rows.push(
              [
                ...start,
                lines,
                kind,
                csvCell(of ?? functionOf(frame)),
                frame?.offset ?? "",
                csvCell(frame?.file ?? ""),
                frame?.line ?? "",
                csvCell(callers.map(functionOf).join(" < ")),
              ].join(","),
            );
          }
          if (others[i] > 0) rows.push([...start, others[i], "others", "", "", "", "", ""].join(","));
        });
  const header = "instance,module,factor,interval,what,lines,kind,function,offset,file,line,callers";
  return rows.length === 0 ? [] : ["", header, ...rows];
}

function functionOf(frame: StackFrame | undefined): string {
  return frame === undefined ? "" : (frame.name ?? `func[${frame.function}]`);
}

/** Returns, after an empty line, the miss-ratio curves of instances with recorded locality. */
function curveRows({ instances, modules, lineBytes }: WorkingSetProfile): string[] {
  const rows = instances.flatMap(({ instance, module, locality }) => {
    if (locality === undefined) return [];
    const curve = missRatioCurve(locality);
    const { method, rate } = locality;
    const name = csvCell(modules[module]?.name ?? "");
    return curveSizes(locality).map((size) =>
      [instance, name, method, rate, size, size * lineBytes, curve.at(size)].join(","),
    );
  });
  return rows.length === 0 ? [] : ["", "instance,module,method,rate,lines,bytes,missRatio", ...rows];
}
