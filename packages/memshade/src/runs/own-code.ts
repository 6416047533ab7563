import type { FrameRules } from "../explain/analyses/frames/frame-rules.ts";
import type { Suppression } from "../profile/model/suppression.ts";

/** How to tell the program's own code from libraries; without rules every place is named by its innermost frame. */
export interface OwnCode {
  readonly rules?: FrameRules | undefined;
  /** Leaks that nobody wants to be told of. */
  readonly suppressions?: readonly Suppression[] | undefined;
}
