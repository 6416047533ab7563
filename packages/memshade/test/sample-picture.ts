import {
  type SampleFrame,
  type SampleProfile,
  SampleProfileBuilder,
  type ValueType,
} from "../src/profile/model/sample-profile.ts";

export interface PictureOptions {
  valueTypes?: readonly ValueType[];
  /** A time per line of the picture, in milliseconds. */
  timesMs?: readonly number[];
}

/**
 * A profile drawn as text: one line per sample, frames outermost first, `~` before an inlined one, then the
 * values.
 * main > ~each > visit : 3 128
 */
export function sampleProfileOf(
  picture: string,
  { valueTypes, timesMs }: PictureOptions = {},
): SampleProfile {
  const builder = new SampleProfileBuilder({
    name: "picture",
    valueTypes: valueTypes ?? [{ type: "samples", unit: "count" }],
    notes: ["drawn by hand"],
  });
  const module = builder.addModule({ name: "app", path: "/bin/app", buildId: "00ff", start: 0, end: 4096 });
  const thread = builder.addThread({ pid: 7, tid: 8, name: "main" });
  for (const [row, line] of picture.trim().split("\n").entries()) {
    const [path, values] = line.trim().split(" : ") as [string, string];
    const frames = path.split(" > ").map((text): SampleFrame => {
      const name = text.replace("~", "");
      const address = name.length * 16;
      return {
        function: name,
        linkageName: `_Z${name}`,
        file: "src/app.c",
        line: name.length,
        column: 2,
        startLine: 1,
        address,
        module,
        inlined: text.startsWith("~"),
      };
    });
    builder.addSample(
      thread,
      builder.stackOf(frames.reverse()),
      values.split(" ").map(Number),
      timesMs?.[row],
    );
  }
  return builder.finish();
}
