import type { SampleProfile } from "../sample-profile.ts";

/** Call paths of a native program by CPU time, with names. */
export interface CpuProfile {
  readonly program: string;
  readonly command: readonly string[];
  /** Samples per second of CPU time, of each thread. */
  readonly hz: number;
  /** Value types: samples, each with those before it that were lost, and the nanoseconds of CPU time that they stand for. */
  readonly samples: SampleProfile;
  readonly lost: number;
  readonly own: number;
  readonly endedEarly: number;
  /** Sentences. */
  readonly notTracked: readonly string[];
}

/** Index of the value types. */
export const CPU_VALUES = { samples: 0, nanoseconds: 1 } as const;
