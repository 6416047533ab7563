import type { FrameRules } from "../explain/analyses/frames/frame-rules.ts";
import type { Suppression } from "../profile/model/suppression.ts";

/**
 * Rules that separate the program's own code from libraries. Without rules, allocation sites are named by
 * their innermost frames.
 */
export interface OwnCode {
  readonly rules?: FrameRules | undefined;
  readonly suppressions?: readonly Suppression[] | undefined;
}
