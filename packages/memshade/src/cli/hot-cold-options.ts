import type { Command } from "commander";
import { UserError } from "../ground/bytes/errors.ts";
import { type HotColdThresholds, LLVM_THRESHOLDS } from "../profile/model/memprof/hot-cold.ts";

export interface HotColdFlags {
  readonly coldLifetime?: number | undefined;
  readonly coldDensity?: number | undefined;
  readonly hotDensity?: number | undefined;
}

/** Adds the limits of the hot/cold classification as options. Their defaults are LLVM's limits. */
export function addHotColdOptions(command: Command): Command {
  return command
    .option(
      "--cold-lifetime <s>",
      "blocks with at least this mean lifetime, in seconds, may be cold (LLVM: 200)",
      parseLimit("--cold-lifetime"),
    )
    .option(
      "--cold-density <n>",
      "blocks with fewer accesses per byte and second may be cold (LLVM: 0.05)",
      parseLimit("--cold-density"),
    )
    .option(
      "--hot-density <n>",
      "blocks with more accesses per byte and second are hot (LLVM: not used)",
      parseLimit("--hot-density"),
    );
}

export function thresholdsOf({ coldLifetime, coldDensity, hotDensity }: HotColdFlags): HotColdThresholds {
  return {
    coldLifetimeSeconds: coldLifetime ?? LLVM_THRESHOLDS.coldLifetimeSeconds,
    coldDensity: coldDensity ?? LLVM_THRESHOLDS.coldDensity,
    hotDensity: hotDensity ?? LLVM_THRESHOLDS.hotDensity,
    usesHot: hotDensity !== undefined,
  };
}

function parseLimit(option: string): (text: string) => number {
  return (text) => {
    const limit = Number(text);
    if (text.trim() === "" || !Number.isFinite(limit) || limit < 0)
      throw new UserError(`${option} takes a number from 0, not "${text}"`);
    return limit;
  };
}
