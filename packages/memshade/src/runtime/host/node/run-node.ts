import { spawn } from "node:child_process";
import { constants } from "node:os";
import { resolve } from "node:path";
import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";
import { dieBySignal, onSignals } from "../die-by-signal.ts";
import type { HeapOptions } from "../heap-options.ts";
import { assertFolderWritable, defaultOutTemplate, expandOutTemplate, programName } from "../run-folder.ts";
import { siblingModule } from "../sibling-module.ts";
import { say } from "../terminal-line.ts";
import { ControlServer } from "./control-server.ts";
import type { ControlMessage } from "./messages.ts";
import { type HookSettings, SETTINGS_VARIABLE } from "./settings.ts";

export interface NodeRun {
  /** The script and its arguments, or Node's `-e CODE` and the like. */
  command: readonly string[];
  /** Options for Node itself. */
  nodeOptions: readonly string[];
  /** Template of the run folder, see `expandOutTemplate`. */
  out?: string | undefined;
  /** Record Node processes that the program starts too. */
  traceChildren?: boolean | undefined;
  heap: HeapOptions;
}

/** Time after which a signal is passed to a program that has not used WebAssembly, if it has not got it by itself. */
const PASS_SIGNAL_AFTER_MS = 300;

/**
 * Runs a Node program under the profiler. The profile is written by the program's own process; this one passes on
 * signals and ends as the program has ended.
 *
 * @returns the program's exit code. When a signal ended it, this process dies by the same signal.
 */
export async function runNode(run: NodeRun): Promise<number> {
  const template = run.out === undefined ? null : resolve(run.out);
  const checked = template ?? defaultOutTemplate(process.cwd(), programName(run.command[0]));
  assertFolderWritable(
    expandOutTemplate(checked, { pid: process.pid, sequence: 1, environment: process.env }),
  );

  const seen = {
    instantiated: false,
    unprofiled: false,
    dyingBySignal: undefined as NodeJS.Signals | undefined,
  };
  let childPid = 0;
  const server = await ControlServer.open((message) => onMessage(message));
  const onMessage = (message: ControlMessage): void => {
    if (message.kind === "instantiated") seen.instantiated = true;
    else if (message.kind === "unprofiled") seen.unprofiled = true;
    else if (message.kind === "dying") seen.dyingBySignal ??= message.signal;
    else if (message.kind === "killed") {
      server.peer(message.pid)?.request({ kind: "signal", signal: message.signal, sure: true });
    }
  };

  const settings: HookSettings = {
    heap: run.heap,
    cwd: process.cwd(),
    out: template,
    command: [...run.command],
    supervisorPid: process.pid,
    socket: server.path,
    traceChildren: run.traceChildren ?? false,
  };
  const hookPath = fileURLToPath(siblingModule(import.meta.url, "register"));
  const child = spawn(process.execPath, [...run.nodeOptions, "--require", hookPath, ...run.command], {
    stdio: "inherit",
    env: childEnvironment(settings, hookPath),
  });
  childPid = child.pid ?? 0;

  const fromTerminal = [0, 1, 2].some((fd) => isatty(fd));
  const passOn = (signal: NodeJS.Signals): void => {
    const toGroup = signal === "SIGINT" && fromTerminal;
    for (const peer of server.peers) {
      peer.request({ kind: "signal", signal, sure: peer.pid === childPid || toGroup });
    }
    if (server.peer(childPid) !== undefined) return;
    if (toGroup) setTimeout(() => child.kill(signal), PASS_SIGNAL_AFTER_MS).unref();
    else child.kill(signal);
  };
  const stopListening = onSignals({
    SIGINT: passOn,
    SIGTERM: passOn,
    SIGHUP: passOn,
    SIGUSR2: () => {
      let asked = 0;
      for (const peer of server.peers) {
        peer.request({ kind: "dump" });
        asked++;
      }
      if (asked === 0) say("nothing to dump yet: no WebAssembly module has been instantiated");
    },
  });

  const ended = await new Promise<{ code: number | null; signal: NodeJS.Signals | null; error?: Error }>(
    (done) => {
      child.on("error", (error) => done({ code: 127, signal: null, error }));
      child.on("exit", (code, signal) => done({ code, signal }));
    },
  );
  await server.drain(childPid);
  server.close();
  stopListening();
  if (ended.error !== undefined) say(`cannot start Node: ${ended.error.message}`);
  else if (!seen.instantiated && !seen.unprofiled)
    say("no WebAssembly module was instantiated; nothing was written");
  const signal = ended.signal === "SIGKILL" ? (seen.dyingBySignal ?? ended.signal) : ended.signal;
  if (signal === null) return ended.code ?? 1;
  dieBySignal(signal);
  return 128 + (constants.signals[signal] ?? 0);
}

function childEnvironment(settings: HookSettings, hookPath: string): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = { ...process.env, [SETTINGS_VARIABLE]: JSON.stringify(settings) };
  if (settings.traceChildren) {
    const quoted = `"${hookPath.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
    environment.NODE_OPTIONS = [process.env.NODE_OPTIONS, "--require", quoted].filter(Boolean).join(" ");
  }
  return environment;
}
