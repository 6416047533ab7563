import type { FrameNames } from "../app/model/names.ts";
import type { PageState, SelectedBox } from "../app/state.ts";
import type { PageData, PageUnit } from "../data/page-data.ts";

/** Numbers per context, of the whole run or of a range. */
export interface GraphWeight {
  readonly id: string;
  readonly label: string;
  readonly unit: PageUnit;
  readonly clock?: string | undefined;
  /** What each context has itself. */
  readonly values: Float64Array;
  /** In a comparison, of both runs. */
  readonly before?: Float64Array | undefined;
  readonly after?: Float64Array | undefined;
  /** A range is chosen, and these numbers are not of it. */
  readonly isWholeRun: boolean;
  /** Where the numbers are not what was counted. */
  readonly caution?: string | undefined;
}

export interface GraphProps {
  readonly data: PageData;
  readonly names: FrameNames;
  readonly state: Pick<PageState, "folded" | "side" | "graph" | "site" | "frame">;
  /** What widths show. */
  readonly weight: GraphWeight;
  /** What may be chosen instead; ratios are of these too. */
  readonly weights: readonly GraphWeight[];
  /** 1 for each context that a search finds; absent: nobody searches. */
  readonly matches?: Uint8Array | undefined;
  /** 1 for each context that is selected; absent: none is. */
  readonly selected?: Uint8Array | undefined;
  /** How far the weight of a box may be off, as it stands behind a number; absent: all was counted. */
  readonly marginOf?: ((box: SelectedBox) => string) | undefined;
  onChange(part: Partial<PageState>): void;
}
