/**
 * What runs in a page, worker or worklet before the first statement of its own: hooks WebAssembly there. It is a script by itself, which
 * stands behind `const memshadeSettings = …`, and has nothing of Node.
 */
import { hookWebAssembly } from "../../instance/hook-webassembly.ts";
import type { AgentSettings, TableReader } from "../messages.ts";
import { ModuleAnswers } from "./module-answers.ts";
import { PageRecorder } from "./page-recorder.ts";
import { ProcessLink } from "./process-link.ts";
import { Threads } from "./threads.ts";

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
    collect: (sent: readonly string[], resets: boolean) => recorder.collect(sent, resets),
    ended: (worker: string) => threads.ended(worker),
  };
  // Whoever listens to the console's messages gets hold of what they are about.
  console.debug(settings.token, agent);
  hookWebAssembly(WebAssembly, recorder);
  link.post({
    kind: "hello",
    url: settings.isWorker ? undefined : location.href,
    isWorker: settings.isWorker,
  });
}

/** Whether the page at the top is one of those that are profiled; of workers the process knows. */
function isWanted({ isWorker, origins }: AgentSettings): boolean {
  if (isWorker || origins === undefined) return true;
  const { ancestorOrigins } = location;
  return origins.includes(ancestorOrigins[ancestorOrigins.length - 1] ?? origin);
}
