/**
 * Recording thread of a hooked Node process. It holds the shadow memories of all instances in all threads. A profile
 * can therefore be written while those threads are busy or gone.
 */

import {
  BroadcastChannel,
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from "node:worker_threads";
import { describeSystemError } from "../../../../ground/bytes/system-errors.ts";
import type { RunEnd } from "../../../../profile/model/run.ts";
import { OUT_OF_REACH } from "../../../tools/heap/read/reach/apply-reach.ts";
import type { InstanceHandle } from "../../../tools/session.ts";
import { SharedShadows } from "../../instance/shared-shadows.ts";
import { LearnedRuns } from "../../learned-runs.ts";
import { FileLines } from "../../module/file-lines.ts";
import { moduleTypes } from "../../module/module-types.ts";
import { ScriptFrames } from "../../module/script-frames.ts";
import { FolderClaim } from "../../run/folder-claim.ts";
import { tryKeepModule } from "../../run/kept-files.ts";
import { takeRun } from "../../run/measured.ts";
import { sayNotWritten } from "../../run/profile-failure.ts";
import { Recorder, UNKNOWN_MODULE, watchCounters } from "../../run/recorder.ts";
import { describeThrown } from "../../run/run-end.ts";
import { RunFolders } from "../../run/run-folder.ts";
import { say, sayWritten } from "../../run/terminal-line.ts";
import { ControlClient } from "../control-client.ts";
import { removeControlFolder } from "../control-folder.ts";
import { OptionFit } from "../option-fit.ts";
import type { ThreadSettings } from "../settings.ts";
import type { ControlRequest, Ping, RecordingMessage, SignalRequest } from "./messages.ts";
import {
  isWatchedSignal,
  lastDelivery,
  listenersWord,
  rewritingMs,
  StateWord,
  type WatchedSignal,
} from "./shared-state.ts";
import { answer, type Reply } from "./sync-reply.ts";

export interface RecordingThreadData {
  settings: ThreadSettings;
  command: string[];
  program: string;
  outTemplate: string;
  /** Owner of the claim on the folder that this process uses. */
  lender: string | undefined;
  environment: Record<string, string | undefined>;
  parentPid: number;
}

/** Time for the program's main thread to act on a signal by itself. */
const DIE_WITHIN_MS = 150;

/** Time for it to search for pointers to live blocks, before a profile is written without them. */
const LOOK_WITHIN_MS = 1000;

/** A signal to the main thread and to the supervising process within this time is one signal. */
const SAME_SIGNAL_MS = 250;

const data = workerData as RecordingThreadData;
const { settings, command, program, parentPid } = data;
const { state } = settings;
const lines = new FileLines((sentence) => recorder.note(sentence));
const recorder: Recorder = new Recorder({
  tools: settings.tools,
  command,
  program,
  observesHost: true,
  linesOf: lines.linesOf,
  typesOf: moduleTypes,
  describeFrame: new ScriptFrames().describe,
});
watchCounters(recorder);
const folders = new RunFolders(data.outTemplate, settings.out === null, data.environment);
const shadows = new SharedShadows();
const originals = new Map<string, Uint8Array>();
const instances = new Map<string, { handle: InstanceHandle; thread: number }>();
/** Numbers of the instances with known creators, including those whose tables were released. */
const numbers = new Map<string, number>();
const allocatorOption = new OptionFit();
const control = new ControlClient(
  settings.socket,
  { pid: process.pid, parentPid },
  onRequest,
  onSupervisorLost,
);
const channel = new BroadcastChannel(settings.channel);

let lastPing = 0;
let finished = false;
let isAlone = false;

function onMessage(message: RecordingMessage): void {
  switch (message.kind) {
    case "module":
      if (!originals.has(message.key)) originals.set(message.key, message.original);
      return;
    case "rewritten":
      tryKeepModule(message.path, message.bytes);
      return;
    case "instance":
      addInstance(message);
      return;
    case "shadow":
      answer(
        message.reply,
        tryTo(() => handOutShadow(message)),
      );
      return;
    case "stacks":
      recorder.learnStacks(message.thread, message.news);
      return;
    case "reach": {
      const handle = instances.get(message.id)?.handle;
      if (handle !== undefined) recorder.setReach(handle, message.reach);
      return;
    }
    case "dropped": {
      const number = numbers.get(message.id);
      numbers.delete(message.id);
      if (number !== undefined) recorder.drop(number);
      return;
    }
    case "kept":
      recorder.keep(
        message.thread,
        message.kept.flatMap(({ id, bytes }) => {
          const number = numbers.get(id);
          return number === undefined ? [] : [{ number, bytes }];
        }),
      );
      return;
    case "released":
      release(message.id);
      return;
    case "thread-ended":
      // The channel may have messages about instances that the ended thread has created.
      takeIn(channel as unknown as MessagePort);
      for (const [id, { thread }] of instances) if (thread === message.thread) release(id);
      return;
    case "note":
      recorder.note(message.sentence);
      control.send({ kind: "unprofiled" });
      return;
    case "allocator-option":
      allocatorOption.take(message.mismatch);
      control.send(message);
      return;
    case "child-started":
      control.send(message);
      return;
    case "killed":
      control.send({ kind: "killed", pid: message.pid, signal: message.signal as NodeJS.Signals });
      return;
    case "flush":
      answer(
        message.reply,
        tryTo(() => flush(message.id)),
      );
      return;
    case "reset":
      answer(message.reply, tryTo(resetRecording));
      return;
    case "dump":
      answer(
        message.reply,
        tryTo(() => write({ kind: "dump" })),
      );
      return;
    case "finish":
      void finishAndTell(message);
      return;
  }
}

/**
 * Writes the final profile. The supervisor must be notified before, and of the result afterwards; then the process
 * ends.
 */
async function finishAndTell({ end, reply }: RecordingMessage & { kind: "finish" }): Promise<void> {
  await control.ready();
  const result = tryTo(() => finish(end));
  await control.sent();
  answer(reply, result);
}

function flush(id: string): Reply {
  const handle = instances.get(id)?.handle;
  if (handle !== undefined) recorder.flush(handle);
  return { ok: true, text: "" };
}

function resetRecording(): Reply {
  recorder.reset();
  return { ok: true, text: "" };
}

function handOutShadow(message: RecordingMessage & { kind: "shadow" }): Reply {
  const { program, moduleKey, info, to } = message;
  const { memory, group } = shadows.find(program, moduleKey, info);
  const port = new BroadcastChannel(to);
  port.postMessage(memory);
  port.close();
  return { ok: true, text: group };
}

function addInstance(message: RecordingMessage & { kind: "instance" }): void {
  const { id, thread, moduleKey, memories, info, path, place, maker } = message;
  const original = () => originals.get(moduleKey) ?? UNKNOWN_MODULE;
  try {
    lines.learn(original(), path);
    const handle = recorder.addInstance(memories, info, original, path, place, thread);
    recorder.setReach(handle, OUT_OF_REACH);
    instances.set(id, { handle, thread });
    if (maker !== undefined) {
      numbers.set(id, handle.number);
      recorder.addMaker(handle, thread, maker);
    }
  } catch (error) {
    const sentence = `an instance of ${info.name} is not recorded: ${describeThrown(error)}`;
    say(sentence);
    recorder.note(sentence, true);
  }
  if (recorder.instanceCount === 1) control.send({ kind: "instantiated" });
}

function release(id: string): void {
  const instance = instances.get(id);
  if (instance === undefined) return;
  instances.delete(id);
  recorder.releaseInstance(instance.handle);
  shadows.forget((group) => recorder.isShared(group));
}

function tryTo(action: () => Reply): Reply {
  try {
    return action();
  } catch (error) {
    return { ok: false, text: describeSystemError(error) };
  }
}

function takeIn(port: MessagePort): void {
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
    onMessage(next.message);
}

function write(end: RunEnd): Reply {
  takeIn(parentPort!);
  takeIn(channel as unknown as MessagePort);
  if (recorder.instanceCount === 0) return { ok: false, text: "no WebAssembly module has been instantiated" };
  const what = end.kind === "dump" ? "dump" : "profile";
  let folder = "its folder";
  try {
    folder = folders.next(what === "dump");
    const signal = end.kind === "signal" ? (end.signal as NodeJS.Signals) : null;
    if (what === "profile") control.send({ kind: "writing", folder, signal });
    const claim = FolderClaim.take(folder, data.lender);
    try {
      if (what === "profile" && allocatorOption.mistake !== undefined) recorder.note(allocatorOption.mistake);
      const { profile, files } = takeRun(recorder, end, rewritingMs(state));
      recorder.forgetReach();
      profile.warnings.forEach(say);
      claim.write(files);
      if (what === "profile" && !new LearnedRuns(settings.tools.learn).keep(profile.siteRuns))
        control.send({ kind: "not-written", what: "learned" });
    } finally {
      if (isAlone) claim.revoke();
      else claim.release();
    }
  } catch (error) {
    control.send({ kind: "not-written", what });
    return { ok: false, text: sayNotWritten(folder, settings.cwd, error) };
  }
  announceWritten(folder, what);
  return { ok: true, text: folder };
}

function announceWritten(folder: string, what: "profile" | "dump"): void {
  if (isAlone) {
    sayWritten(folder, settings.cwd, what);
    return;
  }
  control.send({ kind: "written", folder, what });
  void control.sent().then((isTold) => {
    if (!isTold) sayWritten(folder, settings.cwd, what);
  });
}

function finish(end: RunEnd): Reply {
  if (finished) return { ok: true, text: "" };
  finished = true;
  return write(end);
}

function onRequest(request: ControlRequest): void {
  if (request.kind === "dump")
    if (recorder.instanceCount === 0) say("nothing to dump yet: no WebAssembly module has been instantiated");
    else void mainThreadLooks().then(() => write({ kind: "dump" }));
  else if (isWatchedSignal(request.signal)) void onSignal(request.signal, request);
}

/**
 * Handles a signal to the supervising process. If the program does not listen to it, it is deadly: the profile is
 * written here, since the main thread may be busy for long. Otherwise the program must receive it exactly once, and may
 * have received it from elsewhere: service managers signal all processes that they know.
 */
async function onSignal(signal: WatchedSignal, { isDelivered, time }: SignalRequest): Promise<void> {
  if (Atomics.load(state, listenersWord(signal)) === 0) {
    await mainThreadLooks();
    finish({ kind: "signal", signal });
    control.send({ kind: "dying", signal });
    process.kill(process.pid, signal);
    // The main thread dies by the signal as soon as it handles it. A busy one never does.
    setTimeout(() => process.kill(process.pid, "SIGKILL"), DIE_WITHIN_MS);
    return;
  }
  if (isDelivered) return;
  await mainThreadTurn();
  await mainThreadTurn();
  if (lastDelivery(state, signal) < time - SAME_SIGNAL_MS) process.kill(process.pid, signal);
}

/** Called if the supervising process was killed, or never existed. The recorded process ends with it, busy or not. */
function onSupervisorLost(wasConnected: boolean): void {
  // A supervisor that ended as usual may have left a process that starts others.
  if (!wasConnected && settings.traceChildren) return;
  isAlone = true;
  finish({ kind: "signal", signal: "SIGKILL" });
  if (settings.socket !== null) removeControlFolder(settings.socket);
  process.kill(process.pid, "SIGKILL");
}

/** Resolves when the main thread's event loop has completed a turn. */
async function mainThreadTurn(): Promise<void> {
  await mainThreadAnswer(false, Number.POSITIVE_INFINITY);
}

/** Resolves when the main thread has searched its instances, or is too busy for it. */
async function mainThreadLooks(): Promise<void> {
  await mainThreadAnswer(true, performance.now() + LOOK_WITHIN_MS);
}

async function mainThreadAnswer(looks: boolean, until: number): Promise<void> {
  const ping: Ping = { number: ++lastPing, looks };
  parentPort!.postMessage(ping);
  while (Atomics.load(state, StateWord.Pong) < ping.number && performance.now() < until)
    await new Promise((done) => setTimeout(done, 10));
}

parentPort!.on("message", onMessage);
channel.onmessage = (event: unknown) => onMessage((event as { data: RecordingMessage }).data);
Atomics.store(state, StateWord.Recording, 1);
Atomics.notify(state, StateWord.Recording);
