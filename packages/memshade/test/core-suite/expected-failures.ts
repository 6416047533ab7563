/**
 * Places where rewritten modules are known to behave otherwise, as `script:line`, or `script:end`. A place that is listed and
 * behaves the same in every setting fails the test: the list gets shorter, never longer.
 */
export const EXPECTED_FAILURES: readonly string[] = [];
