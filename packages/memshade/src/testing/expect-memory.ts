import { AssertionError } from "node:assert";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { FrameRules } from "../explain/analyses/frames/frame-rules.ts";
import { limitOfPair, parseLimit } from "../explain/limits/limit.ts";
import { limitMeasure } from "../explain/limits/limit-measures.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { agreeing } from "../profile/model/counted.ts";
import { printable } from "../profile/model/printable.ts";
import { dump } from "../record/host/dump.ts";
import { originalOf } from "../record/host/profile.ts";
import { writeRunFolder } from "../record/host/run/folder-claim.ts";
import { makeOwnedFolder, removeLeftFolders } from "../record/host/run/owned-folders.ts";
import { profileFiles, type RecordedFiles } from "../record/host/run/recorder.ts";
import { checkRun, type GivenLimits, loadBudget } from "../runs/check/check-run.ts";
import { loadSuppressions } from "../runs/suppressions.ts";
import { failedLimits, undecidedLimits } from "../show/report/limits/checked.ts";
import { limitSentence, outcomeInWords } from "../show/report/limits/words.ts";

/**
 * Limits by their measures, as in `memshade check --list`: `{ peak: "8 MiB", left: 0,
 * "dead[file=src/tile.c]": "5%" }`. An amount is the largest allowed value, unless its text begins with
 * another relation, as in `"<8MiB"`. With + or - in front, it is relative to a baseline.
 */
export type MemoryLimits = Readonly<Record<string, string | number>>;

export interface ExpectMemoryOptions {
  /** Run to which limits with + and - are relative. */
  readonly baseline?: GivenRun | undefined;
  /** Files with leaks that are ignored, in the format of memcheck or LeakSanitizer. */
  readonly suppressions?: readonly string[] | undefined;
  /**
   * Globs of source files or functions that belong to the program or to a library. They decide which frame
   * names a site.
   */
  readonly own?: readonly string[] | undefined;
  readonly library?: readonly string[] | undefined;
}

export interface MemoryExpectation {
  /**
   * @throws AssertionError with measure, value, limit and line; UserError for limits that cannot be decided
   */
  toStayBelow(limits: MemoryLimits): Promise<void>;
  /** Checks the limits of a budget file (docs/ci.md), with its suppressions. @throws as `toStayBelow` */
  toMeetBudget(file: string): Promise<void>;
}

/**
 * Checks the memory behavior of a run. Counts repeat to the byte, so limits can be exact.
 *
 * @param run folder of a run, a file that `memshade report` reads, or the result of `profile()`
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { profile } from "memshade";
 * import { expectMemory } from "memshade/testing";
 *
 * // The module exports malloc and free; a program reads its module from a file.
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

/** Checks the type, because callers without types may pass any value. */
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

/** A run given by its path, or the result of `profile()` or `dump()`. */
export type GivenRun = string | RecordedFiles;

/**
 * Calls `use` with the folders of runs, and with folders of their modules, which contain names and lines.
 * Folders of profiles in memory are deleted afterwards.
 */
async function withFolders<T>(
  runs: readonly GivenRun[],
  use: (folders: readonly string[], modules: readonly string[]) => Promise<T>,
): Promise<T> {
  runs.forEach(assertRun);
  removeLeftFolders(tmpdir(), "runs");
  const parent = makeOwnedFolder(tmpdir(), "runs");
  const folders = runs.map((run, index) => (typeof run === "string" ? run : join(parent, `${index}`)));
  try {
    const modules: string[] = [];
    for (const [index, run] of runs.entries()) {
      if (typeof run === "string") continue;
      writeRunFolder(folders[index]!, profileFiles(run));
      const original = originalOf(run.run);
      if (original === undefined) continue;
      const folder = join(parent, `modules-${index}`);
      mkdirSync(folder);
      writeFileSync(join(folder, basename(original.name)), original.bytes);
      modules.push(folder);
    }
    return await use(folders, modules);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    // Replaces these folders in the message, because the user has not named them and they are deleted.
    const told = runs.reduce<string>(
      (text, run, index) => text.replaceAll(folders[index]!, nameOfRun(run)),
      error.message,
    );
    throw new UserError(told);
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
}

/** Checks the type, because callers without types may pass any value. */
function assertRun(run: GivenRun | undefined): void {
  if (typeof run === "string" || (run as Partial<RecordedFiles> | undefined)?.run?.files !== undefined)
    return;
  throw new UserError("a run should be its folder, its file, or the result of profile()");
}

/** Returns the name of a run in messages. */
function nameOfRun(run: GivenRun): string {
  return typeof run === "string" ? run : `the profile of ${run.run.program}`;
}

const WARM_UP = 3;
const ROUNDS = 10;

export interface ExpectNoLeakOptions {
  /** Rounds before the measurement: caches fill, tables grow. Default: 3 */
  readonly warmUp?: number | undefined;
  /** Rounds after which no more may be live than before. Default: 10 */
  readonly rounds?: number | undefined;
  /** Bytes that may be live after all rounds in addition to those before. Default: 0 */
  readonly allow?: number | undefined;
  /** Files with leaks that are ignored, in the format of memcheck or LeakSanitizer. */
  readonly suppressions?: readonly string[] | undefined;
}

/**
 * Runs `round` repeatedly, and checks that no more bytes are live after all rounds than after the warm-up.
 * Works only while a program is recorded: in the callback of `profile()`, and under `memshade node`.
 *
 * @throws AssertionError with the bytes and the line of the largest leak; UserError if nothing is recorded
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { profile } from "memshade";
 * import { expectNoLeak } from "memshade/testing";
 *
 * // The module exports malloc and free; a program reads its module from a file.
 * const module = Buffer.from(
 *   "AGFzbQEAAAABCgJgAX8Bf2ABfwADAwIAAQUDAQABBgcBfwFBgAgLBxoDBm1l" +
 *     "bW9yeQIABm1hbGxvYwAABGZyZWUAAQoQAgsAIwAjACAAaiQACwIACw==",
 *   "base64",
 * );
 * await profile(module, async (instantiate) => {
 *   const { exports } = await instantiate();
 *   await expectNoLeak(() => exports.free(exports.malloc(100)), { warmUp: 3, rounds: 10 });
 *   await assert.rejects(expectNoLeak(() => exports.malloc(100)), /more is live after 10 rounds/);
 * });
 * await assert.rejects(expectNoLeak(() => {}), /nothing is recorded here/);
 * ```
 */
export async function expectNoLeak(
  round: () => unknown,
  { warmUp = WARM_UP, rounds = ROUNDS, allow = 0, suppressions }: ExpectNoLeakOptions = {},
): Promise<void> {
  assertCount("warmUp", warmUp, 0);
  assertCount("rounds", rounds, 1);
  assertCount("allow", allow, 0);
  for (let done = 0; done < warmUp; done++) await round();
  const before = recorded();
  for (let done = 0; done < rounds; done++) await round();
  const limits = [{ limit: parseLimit(`left<=+${allow}`) }];
  const given = { limits, leaks: [], places: [] };
  const lead = `more is live after ${rounds} ${agreeing(rounds, "round")} than before them (${warmUp} to warm up):`;
  await expectLimits(recorded(), given, { baseline: before, suppressions }, lead);
}

function recorded(): GivenRun {
  const found = dump();
  if (found?.run.files.heap !== undefined) return found;
  throw new UserError(
    found === undefined
      ? "nothing is recorded here: call expectNoLeak in the callback of profile(), or in a program under memshade node"
      : "the heap is not recorded here: tools should have heap or alloc",
  );
}

function assertCount(name: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least)
    throw new UserError(`${name} should be a whole number from ${least}, not ${value}`);
}
