import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { memshade } from "../cli/support/command-line.ts";
import { PLANTED } from "./judge.ts";

/** Two screens of 24 lines. */
const SCREEN_LINES = 48;

/** Screens are shared, because some programs have several problems. */
const screens = new Map<string, Promise<string>>();

/** First screen of a run with default options: the findings, one line each, below the head of the report. */
export function firstScreen(program: string, folder: string): Promise<string> {
  const known = screens.get(program) ?? recordScreen(program, folder);
  screens.set(program, known);
  return known;
}

async function recordScreen(program: string, folder: string): Promise<string> {
  const path = fileURLToPath(new URL(program, PLANTED));
  const out = join(folder, program.replaceAll("/", "-"));
  const verb = program.endsWith(".wasm") ? ["run", "--tool", "heap,waste,workingset"] : ["node"];
  const ran = await memshade([...verb, "--out", out, path], { cwd: folder });
  if (ran.code !== 0) throw new Error(`${program} ended with exit code ${ran.code}: ${ran.stderr}`);
  const { stdout, stderr, code } = await memshade(["report", out], { cwd: folder });
  if (code !== 0) throw new Error(`the report of ${program} ended with exit code ${code}: ${stderr}`);
  return stdout.split("\n").slice(0, SCREEN_LINES).join("\n");
}
