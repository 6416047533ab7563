// Runs everything that must hold: lint, types, then all tests, and says in the last line how many passed and failed.
// Arguments are handed to the test runner, so `npm test -- test/wasm` runs the tests of one folder. `--quick` leaves out the
// tests in files named `*.slow.test.ts` and checks only the types of what has changed: `npm run quick`.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageFile, ROOT, TSC } from "./tools.ts";

/** The parts of the runner's JSON report that are read. */
interface TestReport {
  success: boolean;
  numPassedTests: number;
  numFailedTests: number;
  testResults: { name: string; status: string; message?: string; assertionResults: TestCase[] }[];
}

interface TestCase {
  fullName: string;
  status: "passed" | "failed" | "skipped" | "pending" | "todo" | "disabled";
}

function runNode(args: readonly string[], environment: NodeJS.ProcessEnv = process.env): boolean {
  return spawnSync(process.execPath, args, { cwd: ROOT, stdio: "inherit", env: environment }).status === 0;
}

const isQuick = process.argv.includes("--quick");
const runnerArguments = process.argv.slice(2).filter((argument) => argument !== "--quick");

const failures: string[] = [];
function check(name: string, script: string, args: readonly string[]): void {
  console.log(`\n== ${name}`);
  if (runNode([script, ...args])) console.log("ok");
  else failures.push(`${name} (npm run ${name})`);
}

check("lint", "scripts/lint.ts", []);
check("types", TSC, [
  ...["-p", "tsconfig.json"],
  ...(isQuick ? ["--incremental", "--tsBuildInfoFile", "node_modules/.cache/types.tsbuildinfo"] : []),
]);

console.log("\n== tests");
const folder = mkdtempSync(join(tmpdir(), "memshade-tests-"));
const reportFile = join(folder, "report.json");
const skippedFile = join(folder, "skipped.txt");
const testsSucceeded = runNode(
  [
    ...[packageFile("vitest/vitest.mjs"), "run", "--root", "packages/memshade"],
    ...["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`],
    ...[`--reporter=${join(ROOT, "scripts/skipped-tests.ts")}`, ...runnerArguments],
    // Files share workers here: a worker of its own costs a quick file more than its tests.
    ...(isQuick ? ["--exclude", "**/*.slow.test.ts", "--isolate=false"] : []),
  ],
  { ...process.env, MEMSHADE_SKIPPED_TESTS: skippedFile },
);
const report: TestReport | undefined = existsSync(reportFile)
  ? JSON.parse(readFileSync(reportFile, "utf8"))
  : undefined;
const reasons = existsSync(skippedFile) ? readFileSync(skippedFile, "utf8").split("\n").filter(Boolean) : [];
rmSync(folder, { recursive: true, force: true });

const failedTests = report?.numFailedTests ?? 0;
for (const file of report?.testResults ?? []) {
  for (const test of file.assertionResults) if (test.status === "failed") failures.push(test.fullName);
  // A file that does not load has no tests that could fail.
  if (file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed")) {
    failures.push(`${file.name} could not be run: ${file.message?.split("\n")[0] ?? "unknown reason"}`);
  }
}
if (report === undefined) failures.push("the test runner ended without a report");
else if (
  !testsSucceeded &&
  failedTests === 0 &&
  !report.testResults.some((file) => file.status === "failed")
) {
  failures.push("the test runner reports an error outside of all tests");
}

const skipped = (report?.testResults ?? [])
  .flatMap((file) => file.assertionResults)
  .filter((test) => test.status !== "passed" && test.status !== "failed");
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
const skippedText = skipped.length > 0 ? `, ${skipped.length} skipped` : "";
console.log(`\n${report?.numPassedTests ?? 0} passed, ${failures.length} failed${skippedText}`);
process.exitCode = failures.length > 0 ? 1 : 0;
