import { writeFirefoxProfiler } from "../../profile/formats/firefox-profiler.ts";
import { writeFolded } from "../../profile/formats/folded.ts";
import { pprofFile } from "../../profile/formats/pprof/write.ts";
import { writeSpeedscope } from "../../profile/formats/speedscope.ts";
import type { SampleProfile } from "../../profile/model/sample-profile.ts";
import { MEMSHADE_VERSION } from "../../profile/model/version.ts";

export interface FormatDescription {
  /** What the names of its files end in. */
  readonly extension: string;
  readonly isBinary: boolean;
  /** It has what is over time, and no stacks. */
  readonly isOverTime: boolean;
  /** Its files have one weight, which their names say. */
  readonly hasOneWeight: boolean;
  /** How to open a file, as words; `FILE` stands for its name. */
  readonly opened: string;
}

/** A format that any weighted call stacks can be written in. */
interface SampleFormatDescription extends FormatDescription {
  /**
   * A file in pieces.
   *
   * @param shown the value type that is shown first, or that is the only one
   * @throws UserError if an amount does not fit
   */
  readonly write: (profile: SampleProfile, shown: number) => Iterable<string | Uint8Array>;
}

export const STACKS = { isBinary: false, isOverTime: false, hasOneWeight: false } as const;

/** A format is a row here: `export` and `unwind` write it then, and their help names it. */
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
