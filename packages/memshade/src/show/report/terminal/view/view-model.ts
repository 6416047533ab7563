import { type CallTree, callTree } from "../../../../explain/call-tree/call-tree.ts";
import type { StackMetric, WeightedStacks } from "../../../../explain/call-tree/weighted-stacks.ts";
import type { Finding } from "../../../../explain/findings/index.ts";
import type { SourceReader } from "../common/source-report.ts";

/** What is looked at. */
export interface ViewContents {
  /** As it was named. */
  readonly input: string;
  readonly findings: readonly Finding[];
  /** The call paths of each tool, at least one tool. */
  readonly stacks: readonly WeightedStacks[];
  readonly readSource: SourceReader;
}

/** Which tree is shown. */
export interface TreeChoice {
  /** Index of the tool. */
  readonly tool: number;
  /** Index of its metric. */
  readonly metric: number;
  readonly isInverted: boolean;
}

/** What is looked at, with the trees that were asked for: each is made once, so that its nodes stay the same. */
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
    let tree = this.#trees.get(key);
    if (tree === undefined) {
      tree = callTree(this.stacks(choice), { metric, group: "site", isInverted });
      this.#trees.set(key, tree);
    }
    return tree;
  }
}
