import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

export const packageFile = (path: string) => join(ROOT, "node_modules", path);

export const BIOME = fileURLToPath(import.meta.resolve("@biomejs/biome/bin/biome"));
export const KNIP = packageFile("knip/bin/knip.js");
export const TSC = packageFile("typescript/bin/tsc");

/** Runs a script with Node, and prints its output at its end. @returns true if it succeeded */
export function runTool(script: string, args: readonly string[], cwd = ROOT): Promise<boolean> {
  const tool = spawn(process.execPath, [script, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const chunks: Buffer[] = [];
  tool.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  tool.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => {
    tool.on("close", (code) => {
      process.stdout.write(Buffer.concat(chunks));
      resolve(code === 0);
    });
  });
}
