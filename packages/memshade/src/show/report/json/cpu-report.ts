import { hotPlaces, threadShares } from "../../../explain/analyses/cpu.ts";
import { sampledFunctions } from "../../../explain/analyses/sampled-functions.ts";
import { CPU_VALUES, type CpuProfile } from "../../../profile/model/cpu.ts";
import { NONE } from "../../../profile/model/indices.ts";

export const CPU_REPORT_VERSION = 1;

/** Formats call paths by CPU time as JSON (docs/report-json.md), with more of them than the text report. */
export function cpuReportJson(
  profile: CpuProfile,
  { input, rows }: { input: string; rows?: number | undefined },
): string {
  const { program, command, hz, samples, lost, own, endedEarly, notTracked } = profile;
  const frameOf = (index: number) => {
    const { module, address, ...frame } = samples.frames[index]!;
    return {
      ...frame,
      module: module === undefined ? undefined : samples.modules[module]!.name,
      address: address === undefined ? undefined : `0x${address.toString(16)}`,
    };
  };
  const cpuMs = (value: number) => Math.round((value / hz) * 1e6) / 1e3;
  const total = samples.samples.values[CPU_VALUES.samples]!.reduce((sum, value) => sum + value, 0);
  const report = {
    report: "cpu",
    version: CPU_REPORT_VERSION,
    input,
    program,
    command,
    totals: { samples: samples.samples.length, hz, cpuMs: cpuMs(total), lost, own, endedEarly },
    notTracked,
    threads: threadShares(samples, CPU_VALUES.samples).map(({ name, threads, value }) => ({
      name,
      threads,
      cpuMs: cpuMs(value),
    })),
    places: hotPlaces(samples, CPU_VALUES.samples)
      .slice(0, rows)
      .map(({ frame, value, via, paths, path }) => ({
        cpuMs: cpuMs(value),
        paths,
        place: frame === NONE ? null : frameOf(frame),
        via: via === NONE ? null : frameOf(via),
        callers: path.slice(1).map(frameOf),
      })),
    functions: sampledFunctions(samples, CPU_VALUES.samples)
      .slice(0, rows)
      .map(({ name, module, self, total }) => ({
        function: name,
        module,
        selfMs: cpuMs(self),
        totalMs: cpuMs(total),
      })),
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}
