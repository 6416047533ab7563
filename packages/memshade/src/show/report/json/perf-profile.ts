import { sampledStacks } from "../../../explain/analyses/sampled-functions.ts";
import type { NativeRecording } from "../../../profile/model/native-stacks.ts";
import type { SampleProfile } from "../../../profile/model/sample-profile.ts";

/**
 * Yields the stacks of a recording with their sums, the heaviest first (docs/unwinding.md); a line per stack
 * of an event.
 */
export function* perfProfileJson(
  profile: SampleProfile,
  ofEvents: readonly { readonly name: string; readonly profile: SampleProfile }[],
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
  const stacks = ofEvents
    .flatMap((event) => sampledStacks(event.profile, 0).map((stack) => ({ ...stack, event: event.name })))
    .sort((a, b) => b.value - a.value);
  for (const [index, { frames, value, event }] of stacks.entries()) {
    const named = frames.map((frame) => {
      const { module, address, ...rest } = profile.frames[frame]!;
      return {
        ...rest,
        address: address === undefined ? undefined : `0x${address.toString(16)}`,
        module: module === undefined ? undefined : profile.modules[module]?.path,
      };
    });
    yield `${index === 0 ? "" : ","}\n${JSON.stringify({ samples: value, event, frames: named })}`;
  }
  yield "]}\n";
}
