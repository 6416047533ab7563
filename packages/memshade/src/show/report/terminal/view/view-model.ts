import { type CallTree, callTree } from "../../../../explain/call-tree/call-tree.ts";
import type { StackMetric, WeightedStacks } from "../../../../explain/call-tree/weighted-stacks.ts";
import type { Finding } from "../../../../explain/findings/index.ts";
import { entryOf } from "../../../../ground/bytes/entries.ts";
import type { SourceReader } from "../common/source-report.ts";

/** Contents of the view. */
export interface ViewContents {
  /** Name of the input as the user typed it. */
  readonly input: string;
  readonly findings: readonly Finding[];
  /** Call paths of each tool; at least one tool. */
  readonly stacks: readonly WeightedStacks[];
  readonly readSource: SourceReader;
}

/** The call tree to show. */
export interface TreeChoice {
  /** Index into `stacks`. */
  readonly tool: number;
  /** Index into the tool's metrics. */
  readonly metric: number;
  readonly isInverted: boolean;
}

/**
 * Contents of the view and their call trees. Each tree is built once, so that its nodes keep their identity.
 */
export class ViewModel {
  readonly contents: ViewContents;
  readonly #trees = new Map<string, CallTree>();

  constructor(contents: ViewContents) {
    this.contents = contents;
  }

  stacks({ tool }: TreeChoice): WeightedStacks {
    return this.contents.stacks[tool]!;
  }

  metric(choice: TreeChoice): StackMetric {
    return this.stacks(choice).metrics[choice.metric]!;
  }

  tree(choice: TreeChoice): CallTree {
    const { tool, metric, isInverted } = choice;
    const key = `${tool} ${metric} ${isInverted}`;
    return entryOf(this.#trees, key, () =>
      callTree(this.stacks(choice), { metric, group: "site", isInverted }),
    );
  }
}
