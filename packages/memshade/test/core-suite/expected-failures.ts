/**
 * Known differences of rewritten modules, as `script:line` or `script:end`. A listed entry that
 * no setting reproduces fails the test: the list gets shorter, never longer.
 */
export const EXPECTED_FAILURES: readonly string[] = [];
