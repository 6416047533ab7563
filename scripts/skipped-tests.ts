import { appendFileSync } from "node:fs";
import type { Reporter } from "vitest/node";

/**
 * Collects the lines in which tests give the reason for a skip (`SKIPPED: …` by `console.warn`) into the file named by
 * MEMSHADE_SKIPPED_TESTS, so that they can be repeated in a prominent position.
 */
export default class SkippedTests implements Reporter {
  onUserConsoleLog({ content }: { content: string }): void {
    const file = process.env.MEMSHADE_SKIPPED_TESTS;
    if (file === undefined) return;
    for (const line of content.split("\n")) if (/\bskipped\b/i.test(line)) appendFileSync(file, `${line}\n`);
  }
}
