// Formats numbers like the terminal, followed by their unit.
import { formatBytes, formatCount, formatMean, formatPercent } from "../../../../../profile/model/format.ts";
import type { PageUnit } from "../../data/page-data.ts";

interface Measured {
  readonly label: string;
  readonly unit: PageUnit;
  readonly clock?: string | undefined;
}

/** Formats `12 KiB`, `1,000`, `31 %`, `3,002 allocs`. */
export function amount(value: number, unit: PageUnit, clock?: string): string {
  if (value < 0) return `−${amount(-value, unit, clock)}`;
  if (unit === "bytes") return formatBytes(value);
  if (unit === "part") return formatPercent(value, 1);
  if (unit === "ns") return nanoseconds(value);
  if (unit === "clock")
    return `${formatMean(value)} ${clock === "allocations" ? "allocs" : (clock ?? "")}`.trim();
  return Number.isInteger(value) ? formatCount(value) : formatMean(value);
}

/** Formats an amount with its counted unit: `1,000 blocks`. */
export function amountInWords(value: number, unit: PageUnit, clock?: string): string {
  const text = amount(value, unit, clock);
  if (unit === "bytes" || unit === "part" || unit === "ns" || unit === "clock" || unit === "count")
    return text;
  return `${text} ${agreeingUnit(value, unit)}`;
}

/**
 * Formats a sum with its label for a sentence: `35.2 KiB live at the end`, `954 blocks`, `12,000 accesses`.
 */
export function amountOf(value: number, { unit, label, clock }: Measured): string {
  const words =
    unit === "bytes" ? label.replace(/^bytes /, "") : label.replace(unit, agreeingUnit(value, unit));
  return `${amount(value, unit, clock)} ${words}`;
}

/** Returns the width in rem of a column with signs and units. */
export function roomOf({ unit, clock }: Pick<Measured, "unit" | "clock">): number {
  if (unit !== "clock") return 7.5;
  return clock === "allocations" || clock === "ms" ? 9 : 10.5;
}

/** Formats the margin of error after a sum: ` ±12.0 KiB`; empty for exact sums. */
export function margin(value: number, unit: PageUnit): string {
  return value === 0 ? "" : ` ±${amount(Math.ceil(value), unit)}`;
}

/** Formats a difference with its sign. */
export function difference(value: number, unit: PageUnit, clock?: string): string {
  return value > 0 ? `+${amount(value, unit, clock)}` : amount(value, unit, clock);
}

export { formatCount, formatPercent };

function agreeingUnit(value: number, unit: PageUnit): string {
  if (Math.abs(value) !== 1) return unit;
  return unit === "accesses" ? "access" : unit.slice(0, -1);
}

function nanoseconds(value: number): string {
  if (value < 1e3) return `${formatMean(value)} ns`;
  if (value < 1e6) return `${formatMean(value / 1e3)} µs`;
  return value < 1e9 ? `${formatMean(value / 1e6)} ms` : `${formatMean(value / 1e9)} s`;
}
