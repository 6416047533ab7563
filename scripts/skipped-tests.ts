import { appendFileSync } from "node:fs";
import type { Reporter } from "vitest/node";

/**
 * Collects the lines in which tests say why they are skipped (`SKIPPED: …` by `console.warn`) into the file that
 * MEMSHADE_SKIPPED_TESTS names, so that they can be repeated where nobody overlooks them.
 */
export default class SkippedTests implements Reporter {
  onUserConsoleLog({ content }: { content: string }): void {
    const file = process.env.MEMSHADE_SKIPPED_TESTS;
    if (file === undefined) return;
    for (const line of content.split("\n")) if (/\bskipped\b/i.test(line)) appendFileSync(file, `${line}\n`);
  }
}
