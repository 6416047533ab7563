import { hotPlaces, threadShares } from "../../../explain/analyses/cpu.ts";
import { sampledFunctions } from "../../../explain/analyses/sampled-functions.ts";
import { CPU_VALUES, type CpuProfile } from "../../../profile/model/cpu.ts";
import { NONE } from "../../../profile/model/indices.ts";
import type { SampleFrame } from "../../../profile/model/sample-profile.ts";
import { type CutJson, RankedList } from "./text.ts";

export const CPU_REPORT_VERSION = 2;

/** CPU time of a [native program](native-programs.md#cpu-time) that was recorded with `--sample`. */
export interface CpuReportJson extends CutJson {
  /** Kind and version of the report. */
  report: "cpu";
  version: typeof CPU_REPORT_VERSION;
  /** Run, as named on the command line. */
  input: string;
  /** Short name of the program, and its command. */
  program: string;
  command: readonly string[];
  /** Figures of the whole run. */
  totals: {
    /** Samples that were taken. */
    samples: number;
    /** Samples per second of CPU time. */
    hz: number;
    /** CPU time that the samples represent. */
    cpuMs: number;
    /** Lost samples; the next sample of the thread represents them. */
    lost: number;
    /** Samples inside the recording itself, which are left out. */
    own: number;
    /** Samples without a whole call path. */
    endedEarly: number;
  };
  /** Sentences about facts that the profile does not cover. */
  notTracked: readonly string[];
  /** Threads by name, and their number. */
  threads: readonly { name: string; threads: number; cpuMs: number }[];
  /** Lines of the program's own code, the hottest first. */
  places: RankedList<CpuPlaceJson>;
  /** Functions, those with most time of their own first. */
  functions: RankedList<{ function: string; module: string | undefined; selfMs: number; totalMs: number }>;
}

interface CpuPlaceJson {
  /** CPU time in the line and in the library functions that it called. */
  cpuMs: number;
  /** Number of call paths to the line. */
  paths: number;
  /** Frame of the line; null: samples without a stack. */
  place: CpuFrameJson | null;
  /** Library function with most of the samples; null: the line itself. */
  via: CpuFrameJson | null;
  /** Callers of the hottest path, innermost first. */
  callers: readonly CpuFrameJson[];
}

interface CpuFrameJson extends Omit<SampleFrame, "module" | "address"> {
  /** Name of the module. */
  module?: string | undefined;
  /** Address in the module, hexadecimal. */
  address?: string | undefined;
}

/** Returns call paths by CPU time for JSON (docs/report-json.md), with more of them than the text report. */
export function cpuReportJson(profile: CpuProfile, { input }: { readonly input: string }): CpuReportJson {
  const { program, command, hz, samples, lost, own, endedEarly, notTracked } = profile;
  const frameOf = (index: number): CpuFrameJson => {
    const { module, address, ...frame } = samples.frames[index]!;
    return {
      ...frame,
      module: module === undefined ? undefined : samples.modules[module]!.name,
      address: address === undefined ? undefined : `0x${address.toString(16)}`,
    };
  };
  const cpuMs = (value: number) => Math.round((value / hz) * 1e6) / 1e3;
  const total = samples.samples.values[CPU_VALUES.samples]!.reduce((sum, value) => sum + value, 0);
  return {
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
    places: RankedList.of(hotPlaces(samples, CPU_VALUES.samples), ({ frame, value, via, paths, path }) => ({
      cpuMs: cpuMs(value),
      paths,
      place: frame === NONE ? null : frameOf(frame),
      via: via === NONE ? null : frameOf(via),
      callers: path.slice(1).map(frameOf),
    })),
    functions: RankedList.of(
      sampledFunctions(samples, CPU_VALUES.samples),
      ({ name, module, self, total }) => ({
        function: name,
        module,
        selfMs: cpuMs(self),
        totalMs: cpuMs(total),
      }),
    ),
  };
}
