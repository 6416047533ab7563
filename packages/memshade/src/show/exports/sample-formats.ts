import { writeFirefoxProfiler } from "../../profile/formats/firefox-profiler.ts";
import { writeFolded } from "../../profile/formats/folded.ts";
import { pprofFile } from "../../profile/formats/pprof/write.ts";
import { writeSpeedscope } from "../../profile/formats/speedscope.ts";
import type { SampleProfile } from "../../profile/model/sample-profile.ts";
import { MEMSHADE_VERSION } from "../../profile/model/version.ts";

export interface FormatDescription {
  /** File name extension. */
  readonly extension: string;
  readonly isBinary: boolean;
  /** True for formats that store records over time and no stacks. */
  readonly isOverTime: boolean;
  /** True if a file has a single weight, which its name includes. */
  readonly hasOneWeight: boolean;
  /** Command or instruction to open a file; `FILE` is replaced by its name. */
  readonly opened: string;
}

/** A format that can store any weighted call stacks. */
interface SampleFormatDescription extends FormatDescription {
  /**
   * Writes a file, in pieces.
   *
   * @param shown index of the value type that is shown first, or of the only one
   * @throws UserError if an amount does not fit
   */
  readonly write: (profile: SampleProfile, shown: number) => Iterable<string | Uint8Array>;
}

export const STACKS = { isBinary: false, isOverTime: false, hasOneWeight: false } as const;

/** All formats of stacks: `export` and `unwind` write each format listed here, and their help names it. */
export const SAMPLE_FORMATS = {
  pprof: {
    ...STACKS,
    extension: "pb.gz",
    isBinary: true,
    opened: "go tool pprof -http=: FILE",
    write: (profile, shown) => [pprofFile(profile, { shown })],
  },
  firefox: {
    ...STACKS,
    extension: "firefox.json",
    opened: "load it at https://profiler.firefox.com",
    write: (profile, shown) => writeFirefoxProfiler(profile, MEMSHADE_VERSION, shown),
  },
  speedscope: {
    ...STACKS,
    extension: "speedscope.json",
    opened: "npx speedscope FILE",
    write: (profile, shown) => writeSpeedscope(profile, `memshade@${MEMSHADE_VERSION}`, shown),
  },
  folded: {
    ...STACKS,
    extension: "folded",
    hasOneWeight: true,
    opened: "flamegraph.pl FILE > FILE.svg",
    write: writeFolded,
  },
} as const satisfies Record<string, SampleFormatDescription>;
export type SampleFormat = keyof typeof SAMPLE_FORMATS;
