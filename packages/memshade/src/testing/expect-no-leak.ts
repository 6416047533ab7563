import { parseLimit } from "../explain/limits/limit.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { agreeing } from "../profile/model/counted.ts";
import { dump } from "../record/host/dump.ts";
import { expectLimits } from "./expect-memory.ts";
import type { GivenRun } from "./profile-folder.ts";

const WARM_UP = 3;
const ROUNDS = 10;

export interface ExpectNoLeakOptions {
  /** Rounds that are not looked at: caches fill, tables grow. Default: 3 */
  readonly warmUp?: number | undefined;
  /** Rounds behind which nothing more may be live. Default: 10 */
  readonly rounds?: number | undefined;
  /** Bytes that may be live behind all rounds, more than before. Default: 0 */
  readonly allow?: number | undefined;
  /** Files with leaks that do not count, as memcheck and LeakSanitizer have them. */
  readonly suppressions?: readonly string[] | undefined;
}

/**
 * Runs something again and again, and expects that it leaves no more live bytes behind than there were after it had warmed up.
 * It works where something is recorded: in the callback of `profile()`, and under `memshade node`.
 *
 * @throws AssertionError with the bytes and the line that has left most; UserError where nothing is recorded
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { profile } from "memshade";
 * import { expectNoLeak } from "memshade/testing";
 *
 * // It has the functions malloc and free; a program has it from a file.
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
      ? "nothing is recorded here: expectNoLeak belongs into the callback of profile(), or into a program under memshade node"
      : "the heap is not recorded here: tools should have heap or alloc",
  );
}

function assertCount(name: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least)
    throw new UserError(`${name} should be a whole number from ${least}, not ${value}`);
}
