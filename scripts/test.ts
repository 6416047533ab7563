// Checks the project: lint and types, and tests at the same time. The last line gives the numbers of passed and failed tests.
// Arguments go to the test runner, so `npm test -- test/code/wasm` runs the tests of one folder.
// `npm run quick` (`--quick`) runs the tests in `*.test.ts` and checks the types incrementally. `npm test` adds those in `*.slow.test.ts`.
// `npm run long` (`--long`) runs only those in `*.long.test.ts`: programs and searches that take minutes.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageFile, ROOT, runTool, TSC } from "./tools.ts";

/** The parts of the runner's JSON report that are read. */
interface TestReport {
  success: boolean;
  numPassedTests: number;
  testResults: TestFile[];
}

interface TestFile {
  name: string;
  status: string;
  message?: string;
  assertionResults: TestCase[];
}

interface TestCase {
  fullName: string;
  status: "passed" | "failed" | "skipped" | "pending" | "todo" | "disabled";
}

const isQuick = process.argv.includes("--quick");
const isLong = process.argv.includes("--long");
const runnerArguments = process.argv
  .slice(2)
  .filter((argument) => argument !== "--quick" && argument !== "--long");
const failures: string[] = [];

const folder = mkdtempSync(join(tmpdir(), "memshade-tests-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const skippedFile = join(folder, "skipped.txt");

/** Runs test files, and prints the runner's output. Undefined if it ended without a report. */
async function runTests(name: string, options: readonly string[]): Promise<TestReport | undefined> {
  console.log(`\n== tests, ${name}`);
  const reportFile = join(folder, `${name}.json`);
  const args = [packageFile("vitest/vitest.mjs"), "run", "--root", "packages/memshade", "--passWithNoTests"];
  args.push("--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`);
  args.push(`--reporter=${join(ROOT, "scripts/skipped-tests.ts")}`, ...options, ...runnerArguments);
  const runner = spawn(process.execPath, args, {
    cwd: ROOT,
    stdio: "inherit",
    env: { ...process.env, MEMSHADE_SKIPPED_TESTS: skippedFile },
  });
  const code = await new Promise<number | null>((resolve) => runner.on("close", resolve));
  if (!existsSync(reportFile)) {
    failures.push(`the runner of the ${name} tests ended without a report`);
    return undefined;
  }
  const report: TestReport = JSON.parse(readFileSync(reportFile, "utf8"));
  const failed = report.testResults.filter(({ status }) => status === "failed");
  for (const { name: file, message, assertionResults } of failed) {
    const cases = assertionResults.filter(({ status }) => status === "failed");
    for (const { fullName } of cases) failures.push(fullName);
    // A file that does not load has no test cases that could fail.
    if (cases.length === 0)
      failures.push(`${file} could not be run: ${message?.split("\n")[0] ?? "unknown reason"}`);
  }
  if (code !== 0 && failed.length === 0)
    failures.push(`the runner of the ${name} tests reports an error outside of all tests`);
  return report;
}

const incremental = ["--incremental", "--tsBuildInfoFile", "node_modules/.cache/types.tsbuildinfo"];
const checks = isLong
  ? [true, true]
  : Promise.all([
      runTool("scripts/lint.ts", isQuick ? ["--quick"] : [], ROOT),
      runTool(TSC, ["-p", "tsconfig.json", ...(isQuick ? incremental : [])], ROOT),
    ]);
const reports: (TestReport | undefined)[] = [];
if (isLong) reports.push(await runTests("long", ["--exclude", "**/!(*.long).test.ts"]));
else {
  // Quick files share workers: starting a worker costs such a file more than its tests.
  reports.push(await runTests("quick", ["--exclude", "**/*.{slow,long}.test.ts", "--isolate=false"]));
  if (!isQuick) reports.push(await runTests("slow", ["--exclude", "**/!(*.slow).test.ts"]));
}

const [isClean, isTyped] = await checks;
if (!isClean) failures.push("lint (npm run lint)");
if (!isTyped) failures.push("types (npm run types)");
const files = reports.flatMap((report) => report?.testResults ?? []);
if (files.length === 0) failures.push("there are no such tests");

const skipped = files
  .flatMap((file) => file.assertionResults)
  .filter((test) => test.status !== "passed" && test.status !== "failed");
const reasons = existsSync(skippedFile) ? readFileSync(skippedFile, "utf8").split("\n").filter(Boolean) : [];
if (skipped.length > 0) {
  console.log(`\n${skipped.length} SKIPPED:`);
  for (const test of skipped) console.log(`  - ${test.fullName.trim()}`);
}
if (reasons.length > 0) {
  console.log("\nWhy tests were skipped:");
  for (const reason of new Set(reasons)) console.log(`  - ${reason.replace(/^SKIPPED: /, "")}`);
}
if (failures.length > 0) {
  console.log(`\n${failures.length} FAILED:`);
  for (const failure of failures) console.log(`  - ${failure.trim()}`);
}
const passed = reports.reduce((sum, report) => sum + (report?.numPassedTests ?? 0), 0);
const skippedText = skipped.length > 0 ? `, ${skipped.length} skipped` : "";
console.log(`\n${passed} passed, ${failures.length} failed${skippedText}`);
process.exitCode = failures.length > 0 ? 1 : 0;
