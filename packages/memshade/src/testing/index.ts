/**
 * Limits of a program's memory behaviour in the tests of vitest, node:test and others.
 *
 * @module memshade/testing
 */
export {
  type ExpectMemoryOptions,
  type ExpectNoLeakOptions,
  expectMemory,
  expectNoLeak,
  type MemoryExpectation,
  type MemoryLimits,
} from "./expect-memory.ts";
