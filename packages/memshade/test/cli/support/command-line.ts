import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { readRun as runOfText } from "../../../src/profile/model/read-run.ts";
import type { Run } from "../../../src/profile/model/run.ts";
import { MAIN } from "../../command.ts";

// Erasing types and compiling takes most of the time of a short process; the cache does this once for all processes.
const COMPILE_CACHE = fileURLToPath(
  new URL("../../../../../node_modules/.cache/test-processes", import.meta.url),
);

export interface Outcome {
  stdout: string;
  stderr: string;
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface StartOptions {
  cwd: string;
  input?: string;
  env?: Record<string, string>;
}

const folders: string[] = [];
const processGroups: number[] = [];

/** A started program: its output so far, and its end. */
export class Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Outcome>;
  stdout = "";
  stderr = "";

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.ended = new Promise((resolve) => {
      child.on("close", (code, signal) => {
        resolve({ stdout: this.stdout, stderr: this.stderr, code, signal });
      });
    });
  }

  async printed(text: string): Promise<void> {
    while (!this.stdout.includes(text) && !this.stderr.includes(text)) {
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error(`ended before it printed ${JSON.stringify(text)}: ${this.stdout}${this.stderr}`);
      await new Promise((done) => setTimeout(done, 20));
    }
  }
}

/** Starts a Node program. Standard input stays open unless `input` is given. */
export function startNode(args: readonly string[], options: StartOptions): Started {
  const child = spawn(process.execPath, args, {
    cwd: options.cwd,
    env: { ...process.env, NODE_OPTIONS: "", NODE_COMPILE_CACHE: COMPILE_CACHE, ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
    // The program gets its own process group, so that no child of a failed test outlives the test.
    detached: true,
  });
  if (child.pid !== undefined) processGroups.push(child.pid);
  child.stdin!.on("error", () => {});
  if (options.input !== undefined) child.stdin!.end(options.input);
  return new Started(child);
}

export function startMemshade(args: readonly string[], options: StartOptions): Started {
  return startNode([MAIN, ...args], options);
}

/** Runs memshade with an empty standard input unless one is given. */
export function memshade(args: readonly string[], options: StartOptions): Promise<Outcome> {
  return startMemshade(args, { input: "", ...options }).ended;
}

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "memshade-test-"));
  folders.push(folder);
  return folder;
}

afterAll(() => {
  for (const group of processGroups)
    try {
      process.kill(-group, "SIGKILL");
    } catch {
      // The group has ended, as it should.
    }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function runFolders(cwd: string): string[] {
  try {
    return readdirSync(join(cwd, "memshade.out")).sort();
  } catch {
    return [];
  }
}

export function readRun(folder: string): Run {
  return runOfText(readFileSync(join(folder, "run.json"), "utf8"));
}

export function onlyRun(cwd: string): Run {
  const names = runFolders(cwd);
  if (names.length !== 1) throw new Error(`expected one run, found ${names.join(", ") || "none"}`);
  return readRun(join(cwd, "memshade.out", names[0]));
}
