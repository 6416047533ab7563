import { AssertionError } from "node:assert";
import { FrameRules } from "../explain/analyses/frames/frame-rules.ts";
import { limitOfPair } from "../explain/limits/limit.ts";
import { limitMeasure } from "../explain/limits/measures.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { printable } from "../profile/model/printable.ts";
import { checkRun } from "../runs/check/check-run.ts";
import { type GivenLimits, loadBudget } from "../runs/check/limits.ts";
import { loadSuppressions } from "../runs/suppressions.ts";
import { failedLimits, undecidedLimits } from "../show/report/limits/checked.ts";
import { limitSentence, outcomeInWords } from "../show/report/limits/words.ts";
import { type GivenRun, nameOfRun, withFolders } from "./profile-folder.ts";

/**
 * Limits by their measures, as `memshade check --list` has them: `{ peak: "8 MiB", left: 0, "dead[file=src/tile.c]": "5%" }`.
 * An amount is the most that is allowed, unless the text begins with another relation, as in `"<8MiB"`; with + or - in front it
 * counts from a baseline.
 */
export type MemoryLimits = Readonly<Record<string, string | number>>;

export interface ExpectMemoryOptions {
  /** The run that limits with + and - count from. */
  readonly baseline?: GivenRun | undefined;
  /** Files with leaks that do not count, as memcheck and LeakSanitizer have them. */
  readonly suppressions?: readonly string[] | undefined;
  /** Globs of source files or functions that are the program's own, or a library: who names a place. */
  readonly own?: readonly string[] | undefined;
  readonly library?: readonly string[] | undefined;
}

export interface MemoryExpectation {
  /** @throws AssertionError naming measure, value, limit and line; UserError for limits that cannot be decided */
  toStayBelow(limits: MemoryLimits): Promise<void>;
  /** The limits and suppressions of a budget file (docs/ci.md). @throws as `toStayBelow` */
  toMeetBudget(file: string): Promise<void>;
}

/**
 * Expects something of a run's memory behaviour. Counts repeat to the byte, so that limits can be exact.
 *
 * @param run the folder of a run or a file that `memshade report` reads, or what `profile()` gave
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { profile } from "memshade";
 * import { expectMemory } from "memshade/testing";
 *
 * // It has the functions malloc and free; a program has it from a file.
 * const module = Buffer.from(
 *   "AGFzbQEAAAABCgJgAX8Bf2ABfwADAwIAAQUDAQABBgcBfwFBgAgLBxoDBm1l" +
 *     "bW9yeQIABm1hbGxvYwAABGZyZWUAAQoQAgsAIwAjACAAaiQACwIACw==",
 *   "base64",
 * );
 * const recorded = await profile(module, async (instantiate) => {
 *   const { exports } = await instantiate();
 *   exports.free(exports.malloc(100));
 * });
 * await expectMemory(recorded).toStayBelow({ peak: "8 MiB", left: 0 });
 * await assert.rejects(expectMemory(recorded).toStayBelow({ blocks: 0 }), /blocks is 1 block/);
 * ```
 */
export function expectMemory(run: GivenRun, options: ExpectMemoryOptions = {}): MemoryExpectation {
  return {
    async toStayBelow(limits) {
      const given = pairsOf(limits).map(([key, value]) => ({ limit: limitOfPair(key, value) }));
      await expectLimits(run, { limits: given, leaks: [], places: [] }, options);
    },
    async toMeetBudget(file) {
      await expectLimits(run, await loadBudget(file), options);
    },
  };
}

/** Programs without types may give anything. */
function pairsOf(limits: unknown): [string, string | number][] {
  if (typeof limits !== "object" || limits === null || Array.isArray(limits))
    throw new UserError('limits should be an object, such as { peak: "8 MiB", left: 0 }');
  return Object.entries(limits).map(([key, value]) => {
    if (typeof value === "string" || (typeof value === "number" && value >= 0)) return [key, value];
    throw new UserError(`${key} should have an amount of 0 or more, such as "8 MiB", not ${String(value)}`);
  });
}

/** @throws AssertionError that begins with `lead` */
export async function expectLimits(
  run: GivenRun,
  given: GivenLimits,
  { baseline, suppressions, own, library }: ExpectMemoryOptions,
  lead?: string,
): Promise<void> {
  for (const { limit } of given.limits) limitMeasure(limit.measure);
  if (given.limits.length === 0)
    throw new UserError('no limits were given, such as { peak: "8 MiB", left: 0 }');
  if (suppressions !== undefined && !Array.isArray(suppressions))
    throw new UserError("suppressions should be a list of files");
  const compared = baseline ?? given.baseline;
  const runs = compared === undefined ? [run] : [run, compared];
  const report = await withFolders(runs, async ([folder, baselineFolder], modules) =>
    checkRun(
      folder!,
      { ...given, baseline: baselineFolder, leaks: [...loadSuppressions(suppressions), ...given.leaks] },
      { rules: new FrameRules({ own, library }), binaryPaths: modules },
    ),
  );
  const failed = [...failedLimits(report), ...undecidedLimits(report)];
  if (failed.length === 0) return;
  throw new AssertionError({
    message: [
      lead ?? `${outcomeInWords(report)} for ${nameOfRun(run)}:`,
      ...failed.map((checked) => `  ${limitSentence(checked, report)}`),
    ]
      .map(printable)
      .join("\n"),
    actual: Object.fromEntries(failed.map(({ limit, value }) => [limit.text, value])),
    expected: Object.fromEntries(
      failed.map(({ limit, allowed }) => [limit.text, `${limit.relation}${allowed}`]),
    ),
    operator: "toStayBelow",
  });
}
