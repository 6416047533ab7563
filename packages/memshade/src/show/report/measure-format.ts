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

/** Units of measures, and of samples of other tools. */
export type AmountUnit = MeasureUnit | "count" | "nanoseconds";

/** Position of the virtual clock's unit: after each lifetime, or elsewhere, see {@link clockOf}. */
type PlaceOfUnit = "behind" | "elsewhere";

/** Formats the unit of the virtual clock in brackets, if amounts are lifetimes; else empty. */
export function clockOf(unit: AmountUnit, clock: Clock): string {
  return unit === "clock" && clock.kind === "virtual" ? ` (${clockUnit(clock)})` : "";
}

/** Returns the formatter of a unit's amounts. */
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
