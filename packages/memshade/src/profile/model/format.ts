import { agreeing, groupDigits } from "./counted.ts";
import { printable } from "./printable.ts";
import type { Clock } from "./run.ts";

const BINARY_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DECIMAL_UNITS = ["", "k", "M", "G", "T", "P"];

/** Formats an amount of memory, base 1024, three digits: `512 B`, `1.21 GiB`. */
export function formatBytes(bytes: number): string {
  return scale(bytes, 1024, BINARY_UNITS);
}

/** Formats a count, exact up to a million: `12,345`; three digits above: `1.23 M`. */
export function formatCount(count: number): string {
  if (count < 1e6) return groupDigits(Math.round(count));
  return scale(count, 1000, DECIMAL_UNITS);
}

/** Formats a part of a whole: `45.2 %`. */
export function formatPercent(part: number, whole: number): string {
  if (part === 0 || whole === 0) return "0 %";
  const percent = (100 * part) / whole;
  if (part === whole) return "100 %";
  return percent > 0 && percent < 0.05 ? "<0.1 %" : `${Math.min(percent, 99.9).toFixed(1)} %`;
}

/** Formats a mean of small numbers, three digits: `0.031`, `3.4`, `12,345`. */
export function formatMean(mean: number): string {
  if (mean >= 1000) return formatCount(mean);
  if (mean !== 0 && mean < 0.001) return "<0.001";
  return `${Number(mean.toPrecision(mean < 0.1 ? 2 : 3))}`;
}

/** Formats a lower bound of a part: `≥ 7.7 %`; undefined if the bound is too small to be informative. */
export function formatLeastPercent(part: number, whole: number): string | undefined {
  const text = formatPercent(part, whole);
  return part === 0 || text.startsWith("<") ? undefined : `≥ ${text}`;
}

/** Returns the unit of a clock as printed after a number: `allocs`, `ms`. */
export function clockUnit({ unit }: Clock): string {
  return unit === "allocations" ? "allocs" : printable(unit);
}

/** Formats a lifetime with its unit: `1,200 allocs`, `950 ms`, `3.4 min`. */
export function formatLifetime(lifetime: number, clock: Clock): string {
  if (clock.unit !== "ms") {
    const text = formatMean(lifetime);
    return `${text} ${text === "1" ? clockUnit(clock).replace(/s$/, "") : clockUnit(clock)}`;
  }
  if (lifetime < 1000) return `${formatMean(lifetime)} ms`;
  return lifetime < 120_000
    ? `${Number((lifetime / 1000).toPrecision(3))} s`
    : `${Number((lifetime / 60_000).toPrecision(3))} min`;
}

export function formatBlocks(blocks: number): string {
  return plural(blocks, "block");
}

/** Formats a count with a regular noun: `1 site`, `12 sites`. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${agreeing(count, noun)}`;
}

function scale(value: number, base: number, units: readonly string[]): string {
  let scaled = value;
  let unit = 0;
  // A value such as 1023.6 KiB would round to 1024 KiB, so the next unit is used.
  while (Math.round(scaled) >= base && unit < units.length - 1) {
    scaled /= base;
    unit += 1;
  }
  const digits = unit === 0 || scaled >= 100 ? 0 : scaled >= 9.995 ? 1 : 2;
  const text = digits === 0 ? groupDigits(scaled) : scaled.toFixed(digits);
  return `${text} ${units[unit]}`.trimEnd();
}
