import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import { dieBySignal, isFromTerminal, onSignals } from "../record/host/run/die-by-signal.ts";
import { closeInherited, inheritedNote, inheritedStdio } from "../record/host/run/inherited.ts";
import { say } from "../record/host/run/terminal-line.ts";
import { USER_MISTAKE } from "./failures.ts";
import { isSuitable, OLDEST_NODE } from "./node-version.ts";

/**
 * Name of the package with Node. The package `node` needs an install script, which npm may block; packages
 * for Linux contain the program.
 */
const PACKAGE = process.platform === "linux" ? `node-linux-${process.arch}` : "node";

/** Returns the nearest suitable Node of a package in `folder` or a folder above it. */
export function findSuitableNode(folder: string): string | undefined {
  const places = ["node_modules/.bin/node", "node_modules/node/bin/node"].map((place) => join(folder, place));
  const suitable = places.find((place) => existsSync(place) && isSuitable(versionOf(place)));
  if (suitable !== undefined) return suitable;
  return dirname(folder) === folder ? undefined : findSuitableNode(dirname(folder));
}

/**
 * Returns the version that the program reports. A package's name is no proof of its version, and a wrong one
 * could start processes in an endless loop.
 */
function versionOf(node: string): string {
  const { stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
  return (stdout ?? "").trim().replace(/^v/, "");
}

/** Runs the same command line with a Node that is installed beside memshade, and ends with its exit code. */
export async function runWithSuitableNode(): Promise<void> {
  const node = findSuitableNode(fileURLToPath(new URL(".", import.meta.url)));
  if (node === undefined) {
    say(
      `Node ${OLDEST_NODE} or newer is needed, this is ${process.versions.node}: install one beside memshade with: npm install ${PACKAGE}@24`,
    );
    process.exitCode = USER_MISTAKE;
    return;
  }
  let child: ChildProcess;
  try {
    child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], {
      stdio: inheritedStdio(),
      env: { ...process.env, ...inheritedNote() },
    });
  } catch (error) {
    sayNotStarted(node, error);
    return;
  }
  closeInherited();
  const passOn = (signal: NodeJS.Signals): void => {
    if (!isFromTerminal(signal)) child.kill(signal);
  };
  const stopListening = onSignals({
    SIGINT: passOn,
    SIGQUIT: passOn,
    SIGTERM: passOn,
    SIGHUP: passOn,
    SIGUSR2: passOn,
  });
  await new Promise<void>((ended) => {
    child.on("error", (error) => {
      stopListening();
      sayNotStarted(node, error);
      ended();
    });
    child.on("exit", (code, signal) => {
      stopListening();
      process.exitCode = code ?? 128 + constants.signals[signal!];
      if (signal !== null) dieBySignal(signal);
      ended();
    });
  });
}

function sayNotStarted(node: string, error: unknown): void {
  say(`cannot start ${node}: ${describeSystemError(error)}`);
  process.exitCode = USER_MISTAKE;
}
