/**
 * What runs in a page, worker or worklet before the first statement of its own: hooks WebAssembly there. It is a script by itself, which
 * stands behind `const memshadeSettings = …`, and has nothing of Node.
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
  // Of another origin, or hooked already.
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
 * Has the tables sent before the context ends by itself. While another document is on its way, the process cannot ask for them, so a page
 * sends them before; it may go on or come back, and sends them again.
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

/** Whether the page at the top is one of those that are profiled; of workers the process knows. */
function isWanted({ isWorker, origins }: AgentSettings): boolean {
  if (isWorker || origins === undefined) return true;
  const { ancestorOrigins } = location;
  return origins.includes(ancestorOrigins[ancestorOrigins.length - 1] ?? origin);
}
