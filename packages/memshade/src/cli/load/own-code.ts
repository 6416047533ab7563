import type { FrameRules } from "../../analyses/frames/frame-rules.ts";

/** How to tell the program's own code from libraries; without rules every place is named by its innermost frame. */
export interface OwnCode {
  readonly rules?: FrameRules | undefined;
}
