import type { PageModel } from "../model/page-model.ts";
import type { Change, PageState } from "../state.ts";

/** Properties of every view. */
export interface ViewProps {
  readonly model: PageModel;
  readonly state: PageState;
  readonly change: Change;
}

/** Returns a change that selects only this. */
export function select(
  part: Pick<Partial<PageState>, "site" | "frame" | "frameOf" | "finding" | "alone">,
): Partial<PageState> {
  return {
    site: undefined,
    frame: undefined,
    box: undefined,
    alone: undefined,
    finding: undefined,
    ...part,
  };
}
