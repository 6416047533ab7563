import { sampledStacks } from "../../../explain/analyses/sampled-functions.ts";
import type { NativeRecording } from "../../../profile/model/native-stacks.ts";
import type { SampleFrame, SampleProfile } from "../../../profile/model/sample-profile.ts";

/** Stacks of a recording. */
interface PerfProfileJson {
  /** Processor of the recording. */
  arch: NativeRecording["architecture"];
  /** Command of `perf record`. */
  command: NativeRecording["command"];
  /** Recorded events. */
  events: NativeRecording["events"];
  /** Number of samples, and of lost ones. */
  samples: number;
  lost: NativeRecording["lost"];
  /** Sentences about gaps in the recording. */
  notes: NativeRecording["notes"];
  /** Missing objects: path, build id and reason. */
  missing: NativeRecording["missing"];
  /** Sampled threads. */
  threads: SampleProfile["threads"];
  /** Stacks, the heaviest first. */
  stacks: readonly PerfStackJson[];
}

interface PerfStackJson {
  /** Number of samples. */
  samples: number;
  /** Name of the event. */
  event: string;
  /** Frames, innermost first. */
  frames: readonly PerfStackFrameJson[];
}

interface PerfStackFrameJson extends Omit<SampleFrame, "address" | "module"> {
  /** Address in the module, hexadecimal. */
  address?: string | undefined;
  /** Path of the module. */
  module?: string | undefined;
}

/**
 * Yields the stacks of a recording with their sums, the heaviest first (docs/report-json.md); a line per stack
 * of an event.
 */
export function* perfProfileJson(
  profile: SampleProfile,
  ofEvents: readonly { readonly name: string; readonly profile: SampleProfile }[],
  { architecture, command, events, lost, notes, missing }: NativeRecording,
): Generator<string> {
  const head: Omit<PerfProfileJson, "stacks"> = {
    arch: architecture,
    command,
    events,
    samples: profile.samples.length,
    lost,
    notes,
    missing,
    threads: profile.threads,
  };
  yield `${JSON.stringify(head).slice(0, -1)},"stacks":[`;
  const stacks = ofEvents
    .flatMap((event) => sampledStacks(event.profile, 0).map((stack) => ({ ...stack, event: event.name })))
    .sort((a, b) => b.value - a.value);
  for (const [index, { frames, value, event }] of stacks.entries()) {
    const named = frames.map((frame): PerfStackFrameJson => {
      const { module, address, ...rest } = profile.frames[frame]!;
      return {
        ...rest,
        address: address === undefined ? undefined : `0x${address.toString(16)}`,
        module: module === undefined ? undefined : profile.modules[module]?.path,
      };
    });
    const stack: PerfStackJson = { samples: value, event, frames: named };
    yield `${index === 0 ? "" : ","}\n${JSON.stringify(stack)}`;
  }
  yield "]}\n";
}
