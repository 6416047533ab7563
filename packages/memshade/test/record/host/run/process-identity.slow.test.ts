import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { makeOwnedFolder } from "../../../../src/record/host/run/owned-folders.ts";
import {
  isRunning,
  isSeenFromHere,
  ownIdentity,
  ownNamespace,
} from "../../../../src/record/host/run/process-identity.ts";

const UNSHARE = ["--pid", "--fork", "--mount-proc"];
const canUnshare = spawnSync("unshare", [...UNSHARE, "true"]).status === 0;
if (!canUnshare) console.warn("SKIPPED: there are no namespaces of process ids here: no container is tried");

const SOURCE = fileURLToPath(new URL("../../../../src/record/host/run/", import.meta.url));

/** Runs a line of JavaScript with the exports of `owned-folders.ts` and `process-identity.ts`, in a container or outside. */
function argumentsOf(line: string): string[] {
  const script = `import * as folders from "${SOURCE}owned-folders.ts"; import * as identity from "${SOURCE}process-identity.ts"; ${line}`;
  return ["--input-type=module", "--eval", script];
}

describe.skipIf(!canUnshare)("processes of containers that share a folder", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-containers-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const inContainer = (line: string) =>
    spawnSync("unshare", [...UNSHARE, process.execPath, ...argumentsOf(line)], { encoding: "utf8" }).stdout;

  it("leave each other's folders alone", () => {
    const own = makeOwnedFolder(folder, "test");
    inContainer(`folders.removeLeftFolders("${folder}", "test")`);
    expect(existsSync(own)).toBe(true);
  });

  it("are found from outside as long as they run", async () => {
    const line = `console.log(identity.ownIdentity()); process.stdin.resume();`;
    const container = spawn("unshare", [...UNSHARE, process.execPath, ...argumentsOf(line)]);
    const identity = await new Promise<string>((said) =>
      container.stdout.once("data", (bytes: Buffer) => said(bytes.toString().trim())),
    );
    expect(JSON.parse(identity).namespace).not.toBe(ownNamespace());
    expect(isRunning(identity)).toBe(true);
    const ended = new Promise((end) => container.once("exit", end));
    container.stdin.end();
    await ended;
    // A process that runs in a container itself cannot see the process.
    expect(isRunning(identity)).toBe(!isSeenFromHere(identity));
  });

  it("do not take processes of other namespaces for their own, or for ended ones", () => {
    expect(inContainer(`console.log(identity.isRunning(${JSON.stringify(ownIdentity())}))`)).toBe("true\n");
  });

  it("have ended with the system that they ran on", () => {
    const named = { pid: 1, host: hostname(), started: "another-start 5", namespace: "pid:[1]" };
    expect(isRunning(JSON.stringify(named))).toBe(false);
  });
});
