import { writeFirefoxProfiler } from "../formats/firefox-profiler/write.ts";
import { writeFolded } from "../formats/folded/write.ts";
import { pprofFile } from "../formats/pprof/write.ts";
import { writeSpeedscope } from "../formats/speedscope/write.ts";
import type { SampleProfile } from "../model/sample-profile.ts";
import { MEMSHADE_VERSION } from "../model/version.ts";

/** Formats that any weighted call stacks can be written in. */
export const SAMPLE_FORMATS = ["folded", "pprof", "speedscope", "firefox"] as const;
export type SampleFormat = (typeof SAMPLE_FORMATS)[number];

/**
 * A file of weighted call stacks, in pieces.
 *
 * @param shown the value type that is shown first; the only one that folded stacks have
 * @throws UserError if an amount does not fit
 */
export function writeSamples(
  format: SampleFormat,
  profile: SampleProfile,
  shown: number,
): Iterable<string | Uint8Array> {
  switch (format) {
    case "folded":
      return writeFolded(profile, shown);
    case "pprof":
      return [pprofFile(profile, { shown })];
    case "speedscope":
      return writeSpeedscope(profile, `memshade@${MEMSHADE_VERSION}`, shown);
    case "firefox":
      return writeFirefoxProfiler(profile, MEMSHADE_VERSION, shown);
    default:
      throw new RangeError(`no such format: ${format satisfies never}`);
  }
}
