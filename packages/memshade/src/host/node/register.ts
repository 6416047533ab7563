/**
 * What `memshade node` makes a Node process load first (`--require`), in its main thread and in every worker thread.
 * Without settings it does nothing.
 */
import { fileURLToPath } from "node:url";
import { getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";
import { defaultOutTemplate, hasPlaceHolder, programName } from "../run/run-folder.ts";
import { hookChildProcesses, hookFirstChild } from "./hook-children.ts";
import { hookAllContexts } from "./hook-contexts.ts";
import { hookWorkers } from "./hook-workers.ts";
import { hookThreadEnd, ProcessEndHook } from "./process-end.ts";
import { publishRecording } from "./recording/recording-api.ts";
import { MainThreadLink, WorkerThreadLink } from "./recording/recording-link.ts";
import { openSharedState } from "./recording/shared-state.ts";
import { type HookSettings, SETTINGS_KEY, SETTINGS_VARIABLE, type ThreadSettings } from "./settings.ts";
import { ThreadRecorder } from "./thread-recorder.ts";

const HOOK_PATH = fileURLToPath(import.meta.url);

function readSettings(): HookSettings | undefined {
  const text = process.env[SETTINGS_VARIABLE];
  if (text === undefined) return undefined;
  const settings = JSON.parse(text) as HookSettings;
  if (settings.traceChildren)
    process.env[SETTINGS_VARIABLE] = JSON.stringify({ ...settings, isDirectChild: false });
  else delete process.env[SETTINGS_VARIABLE];
  return settings;
}

/** The program must not see the option that loads this file, nor hand it on to processes it forks. */
function hideOwnOption(): void {
  const at = process.execArgv.findIndex(
    (option, i, all) => option === "--require" && all[i + 1] === HOOK_PATH,
  );
  if (at >= 0) process.execArgv.splice(at, 2);
}

function hookMainThread(settings: HookSettings): void {
  // Not by the parent's process id: who is killed at once is no parent any more.
  const { isDirectChild } = settings;
  const script = process.argv[1] ?? "node";
  const program = programName(script);
  const channel = `memshade-${process.pid}`;
  const state = openSharedState();
  const threadSettings: ThreadSettings = { ...settings, channel, state };
  setEnvironmentData(SETTINGS_KEY, threadSettings as never);

  const link = new MainThreadLink(
    {
      settings: threadSettings,
      command: isDirectChild ? settings.command : [script, ...process.argv.slice(2)],
      program,
      outTemplate: outTemplate(settings, program, isDirectChild),
      lender: isDirectChild ? settings.lender : undefined,
      environment: { ...process.env },
      parentPid: process.ppid,
    },
    () => end.arm(),
  );
  const end = new ProcessEndHook({ finish: (how) => link.finish(how), state });
  recordThread(threadSettings, link);
  hookWorkers(HOOK_PATH, {
    starting: () => link.startAndWait(),
    ended: (thread) => link.post({ kind: "thread-ended", thread }),
  });
  if (settings.traceChildren) hookChildProcesses((pid, signal) => link.post({ kind: "killed", pid, signal }));
  else hookFirstChild(() => link.post({ kind: "child-started" }));
  publishRecording(link);
}

function recordThread(settings: ThreadSettings, link: MainThreadLink | WorkerThreadLink): void {
  const recorder = new ThreadRecorder(settings.tools, link);
  link.lookThrough = () => recorder.lookThrough();
  hookAllContexts(recorder);
}

/** Processes that would write to the same folder get the process id added. */
function outTemplate(settings: HookSettings, program: string, isDirectChild: boolean): string {
  if (settings.out === null) return defaultOutTemplate(settings.cwd, program);
  return isDirectChild || hasPlaceHolder(settings.out, "p") ? settings.out : `${settings.out}.%p`;
}

function hookWorkerThread(settings: ThreadSettings): void {
  const link = new WorkerThreadLink(settings);
  if (!settings.traceChildren) hookFirstChild(() => link.post({ kind: "child-started" }));
  recordThread(settings, link);
  hookThreadEnd(() => link.lookThrough());
  hookWorkers(HOOK_PATH, {
    starting: () => {},
    ended: (thread) => link.post({ kind: "thread-ended", thread }),
  });
  publishRecording(link);
}

hideOwnOption();
if (isMainThread) {
  const settings = readSettings();
  if (settings !== undefined) hookMainThread(settings);
} else {
  const settings = getEnvironmentData(SETTINGS_KEY) as unknown as ThreadSettings | undefined;
  if (settings !== undefined) hookWorkerThread(settings);
}
