import type { TimeUnit, WorkingSetProfile } from "../../../../profile/model/working-set/working-set.ts";

const SERIES = 8;
const FACTOR = 4;
const LINES_PER_KB = 16;
const LINES_PER_MB = 16_384;

/** What EfficiencySanitizer's working-set tool prints of the first instance; its lines begin with a process id. */
export function esanReport(profile: WorkingSetProfile, pid: number): string {
  const prefix = `==${pid}==`;
  const lines: string[] = [];
  const [instance] = profile.instances;
  const levels = instance?.levels ?? [];
  const whole = (level: (typeof levels)[number] | undefined) => {
    const counts = level?.counts.lines ?? [];
    // A period that did not end gives no sample.
    return level?.lastIsPartial ? counts.slice(0, -1) : counts;
  };
  lines.push(`${prefix} Total number of samples: ${whole(levels[0]).length}`);
  for (let series = 0; series < SERIES; series++) {
    const period = (instance?.period ?? profile.options.interval) * FACTOR ** series;
    lines.push(`${prefix} Samples array #${series} at period ${esanPeriod(period, profile.unit)}`);
    whole(levels[series]).forEach((count, sample) => {
      const size = esanSize(count);
      lines.push(
        `${prefix}#${String(sample).padStart(4)}: ${String(size.amount).padStart(8)} ${size.unit} (${String(count).padStart(9)} cache lines)`,
      );
    });
  }
  const total = instance?.total.lines ?? 0;
  const { amount, unit } = esanSize(total);
  lines.push(
    `${prefix} EfficiencySanitizer: the total working set size: ${amount} ${unit} (${total} cache lines)`,
  );
  return `${lines.join("\n")}\n`;
}

/** Bytes up to 160 lines, then whole KB, above 163,840 lines whole MB. */
export function esanSize(lines: number): { amount: number; unit: string } {
  if (lines > 10 * LINES_PER_MB) return { amount: Math.floor(lines / LINES_PER_MB), unit: "MB" };
  if (lines > 10 * LINES_PER_KB) return { amount: Math.floor(lines / LINES_PER_KB), unit: "KB" };
  return { amount: lines * 64, unit: "Bytes" };
}

/** Milliseconds up to 10,000, then whole seconds, above 600,000 whole minutes; virtual time in accesses. */
function esanPeriod(units: number, unit: TimeUnit): string {
  if (unit === "accesses") return `${units} accesses`;
  const ms = Math.round(units / 1e6);
  if (ms > 600_000) return `${Math.floor(ms / 60_000)} min`;
  return ms > 10_000 ? `${Math.floor(ms / 1000)} sec` : `${ms} ms`;
}
