import type { CpuProfile } from "../../../src/profile/model/cpu.ts";
import { SampleProfileBuilder } from "../../../src/profile/model/sample-profile.ts";

const MS = 1e6;

/**
 * A profile of samples: for each thread its sampled call paths, innermost first, separated by spaces. A name in
 * capitals belongs to a library; the line is behind a colon.
 */
export function cpuPictureOf(threads: Readonly<Record<string, readonly string[]>>): CpuProfile {
  const builder = new SampleProfileBuilder({
    name: "app",
    valueTypes: [
      { type: "samples", unit: "count" },
      { type: "cpu", unit: "nanoseconds" },
    ],
  });
  const module = builder.addModule({ name: "app", path: "/bin/app", start: 0, end: 4096 });
  let time = 0;
  Object.entries(threads).forEach(([name, paths], tid) => {
    const thread = builder.addThread({ pid: 1, tid, name });
    for (const path of paths) {
      const frames = path.split(" ").map((text) => {
        const [word, line] = text.split(":");
        const library = word === word!.toUpperCase() ? "the C library" : undefined;
        return { function: word!, file: "app.c", line: Number(line ?? 1), module, library };
      });
      builder.addSample(thread, builder.stackOf(frames), [1, 10 * MS], ++time);
    }
  });
  return {
    program: "app",
    command: ["./app", "-v"],
    hz: 100,
    samples: builder.finish(),
    lost: 0,
    own: 0,
    endedEarly: 0,
    notTracked: [],
  };
}
