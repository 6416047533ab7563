import { sampledStacks } from "../../analyses/sampled-functions.ts";
import type { SampleProfile } from "../../model/sample-profile.ts";
import type { PerfStacks } from "../../stacks/perf-stacks.ts";

/** The stacks of a recording with their sums, the heaviest first (docs/unwinding.md); a line per stack. */
export function* perfProfileJson(
  profile: SampleProfile,
  { header, files, lost, gaps }: PerfStacks,
): Generator<string> {
  const head = JSON.stringify({
    arch: header.architecture,
    command: header.commandLine,
    events: header.events.map(({ name }) => name),
    samples: profile.samples.length,
    lost,
    notes: gaps,
    missing: files
      .filter((file) => file.missing !== undefined)
      .map(({ path, buildId, missing: reason }) => ({ path, buildId, reason })),
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
