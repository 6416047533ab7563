/**
 * Limits of a program's memory behaviour in the tests of vitest, node:test and others.
 *
 * @module memshade/testing
 */
export {
  type ExpectMemoryOptions,
  expectMemory,
  type MemoryExpectation,
  type MemoryLimits,
} from "./expect-memory.ts";
export { type ExpectNoLeakOptions, expectNoLeak } from "./expect-no-leak.ts";
