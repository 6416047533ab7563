/**
 * Agent: runs in a page, worker or worklet before the first statement of the program and hooks WebAssembly. It is a
 * standalone script after `const memshadeSettings = …`, and uses nothing of Node.
 */
import { hookWebAssembly } from "../../instance/hook-webassembly.ts";
import { replaceFunction } from "../../instance/replace-property.ts";
import type { AgentSettings, TableReader } from "../messages.ts";
import { ModuleAnswers, ProcessLink } from "./module-answers.ts";
import { PageRecorder, Threads } from "./page-recorder.ts";

declare const memshadeSettings: AgentSettings;

start(memshadeSettings);

function start(settings: AgentSettings): void {
  const link = ProcessLink.take(settings.token);
  // The context belongs to another origin, or has an agent already.
  if (link === undefined || !isWanted(settings)) return;
  const answers = new ModuleAnswers(settings, link);
  const threads = new Threads(settings, link);
  const recorder = new PageRecorder(link, answers, threads);
  const agent = {
    answer: (id: number, text: string, isLast: boolean) => answers.push(id, text, isLast),
    extend: (reader: TableReader) => recorder.extend(reader),
    collect: (sent: readonly string[], resets: boolean, isCollected: boolean) =>
      recorder.collect(sent, resets, isCollected),
    ended: (worker: string) => threads.ended(worker),
  };
  link.introduce(agent);
  hookWebAssembly(WebAssembly, recorder);
  hookEnd(settings, () => {
    recorder.collect([], false);
    link.hurry();
  });
  link.post({
    kind: "hello",
    url: settings.isWorker ? undefined : location.href,
    isWorker: settings.isWorker,
  });
}

/**
 * Sends the tables before the context ends by itself. While another document is loading, the process cannot request
 * them, so a page sends them before. If it continues or comes back, it sends them again.
 */
function hookEnd({ isWorker }: AgentSettings, collect: () => void): void {
  if (!isWorker)
    for (const kind of ["beforeunload", "pagehide"]) addEventListener(kind, collect, { capture: true });
  replaceFunction(globalThis, "close", {
    apply(target, self, args) {
      collect();
      return Reflect.apply(target, self, args);
    },
  });
}

/** True if the top-level page is profiled. For workers the process decides. */
function isWanted({ isWorker, origins }: AgentSettings): boolean {
  if (isWorker || origins === undefined) return true;
  const { ancestorOrigins } = location;
  return origins.includes(ancestorOrigins[ancestorOrigins.length - 1] ?? origin);
}
