import type { MeasureUnit } from "../../explain/measures/measure.ts";
import {
  clockUnit,
  formatBytes,
  formatCount,
  formatLifetime,
  formatMean,
  formatPercent,
} from "../../profile/model/format.ts";
import type { Clock } from "../../profile/model/run.ts";

/** Units of measures, and those of samples of other tools. */
export type AmountUnit = MeasureUnit | "count" | "nanoseconds";

/** Whether the unit of the virtual clock stands behind each lifetime, or elsewhere: see {@link clockOf}. */
type PlaceOfUnit = "behind" | "elsewhere";

/** The unit of the virtual clock in brackets, where amounts are lifetimes on it; else nothing. */
export function clockOf(unit: AmountUnit, clock: Clock): string {
  return unit === "clock" && clock.kind === "virtual" ? ` (${clockUnit(clock)})` : "";
}

/** How amounts of a unit are written. */
export function amountFormat(
  unit: AmountUnit,
  clock?: Clock | undefined,
  place: PlaceOfUnit = "behind",
): (amount: number) => string {
  switch (unit) {
    case "bytes":
      return formatBytes;
    case "accessesPerByte":
      return formatMean;
    case "part":
      return (amount) => formatPercent(amount, 1);
    case "nanoseconds":
      return (amount) => formatLifetime(amount / 1e6, { kind: "wall", unit: "ms" });
    case "clock":
      if (clock === undefined || (place === "elsewhere" && clock.kind === "virtual")) return formatMean;
      return (amount) => formatLifetime(amount, clock);
    default:
      return formatCount;
  }
}
