import { sampledStacks } from "../../analyses/sampled-functions.ts";
import type { NativeRecording } from "../../model/native-stacks.ts";
import type { SampleProfile } from "../../model/sample-profile.ts";

/** The stacks of a recording with their sums, the heaviest first (docs/unwinding.md); a line per stack. */
export function* perfProfileJson(
  profile: SampleProfile,
  { architecture, command, events, lost, notes, missing }: NativeRecording,
): Generator<string> {
  const head = JSON.stringify({
    arch: architecture,
    command,
    events,
    samples: profile.samples.length,
    lost,
    notes,
    missing,
    threads: profile.threads,
  });
  yield `${head.slice(0, -1)},"stacks":[`;
  for (const [index, { frames, value }] of sampledStacks(profile, 0).entries()) {
    const named = frames.map((frame) => {
      const { module, address, ...rest } = profile.frames[frame]!;
      return {
        ...rest,
        address: address === undefined ? undefined : `0x${address.toString(16)}`,
        module: module === undefined ? undefined : profile.modules[module]?.path,
      };
    });
    yield `${index === 0 ? "" : ","}\n${JSON.stringify({ samples: value, frames: named })}`;
  }
  yield "]}\n";
}
