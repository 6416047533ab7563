import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { onMessages } from "../../../../src/record/host/browser/cdp-pipe.ts";
import { newFolder, readRun } from "../../../cli/support/command-line.ts";
import { assemble, LIBRARY } from "../../../cli/support/programs.ts";
import { CHROMIUM, isInstalled, serve } from "./support/browse.ts";

const SHIM = fileURLToPath(new URL("../../../../bin/memshade.js", import.meta.url));
const isBuilt = existsSync(fileURLToPath(new URL("../../../../dist/main.js", import.meta.url)));

/** Arguments that Puppeteer 25 starts a browser with, except the profile folder. */
const ARGUMENTS = [
  "--allow-pre-commit-input",
  "--disable-background-networking",
  "--disable-background-timer-throttling",
  "--disable-backgrounding-occluded-windows",
  "--disable-breakpad",
  "--disable-client-side-phishing-detection",
  "--disable-component-extensions-with-background-pages",
  "--disable-default-apps",
  "--disable-dev-shm-usage",
  "--disable-hang-monitor",
  "--disable-infobars",
  "--disable-ipc-flooding-protection",
  "--disable-popup-blocking",
  "--disable-prompt-on-repost",
  "--disable-renderer-backgrounding",
  "--disable-search-engine-choice-screen",
  "--disable-sync",
  "--enable-automation",
  "--export-tagged-pdf",
  "--generate-pdf-document-outline",
  "--force-color-profile=srgb",
  "--metrics-recording-only",
  "--no-first-run",
  "--password-store=basic",
  "--use-mock-keychain",
  "--disable-features=Translate,AcceptCHFrame,MediaRouter,OptimizationHints",
  "--enable-features=PdfOopif",
  "--headless=new",
  "--hide-scrollbars",
  "--mute-audio",
  "--no-sandbox",
  "about:blank",
];

// biome-ignore lint/suspicious/noExplicitAny: answers of the protocol
type Answer = Record<string, any>;

function startAsClient(out: string) {
  const child = spawn(SHIM, [...ARGUMENTS, `--user-data-dir=${newFolder()}`, "--remote-debugging-pipe"], {
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
    env: { ...process.env, MEMSHADE_OUT: out, MEMSHADE_CHROMIUM: CHROMIUM, MEMSHADE_TOOLS: "heap,waste" },
  });
  let stderr = "";
  child.stderr!.on("data", (data) => {
    stderr += data;
  });
  const [, , , to, from] = child.stdio as unknown as [unknown, unknown, unknown, Writable, Readable];
  const waiting = new Map<number, (answer: Answer) => void>();
  const events: Answer[] = [];
  onMessages(from, (text) => {
    const answer = JSON.parse(text) as Answer;
    if (answer.id === undefined) events.push(answer);
    else waiting.get(answer.id)?.(answer.result ?? answer.error);
  });
  let last = 0;
  return {
    events,
    call: (method: string, params: object = {}, sessionId?: string): Promise<Answer> => {
      to.write(`${JSON.stringify({ id: ++last, method, params, sessionId })}\0`);
      return new Promise((done) => waiting.set(last, done));
    },
    ended: new Promise<{ code: number | null; stderr: string }>((done) =>
      child.on("exit", (code) => done({ code, stderr })),
    ),
  };
}

describe.skipIf(!isInstalled || !isBuilt)("memshade started as Puppeteer starts a browser", () => {
  it("passes the arguments on, and profiles the page that the client opens", async () => {
    const served = await serve({
      "/library.wasm": assemble(LIBRARY),
      "/": `<!doctype html><script>
        WebAssembly.instantiateStreaming(fetch("/library.wasm"), { host: { notify() {} } })
          .then(({ instance }) => instance.exports.fill(3))
          .then((body) => fetch("/told", { method: "POST", body }));
      </script>`,
    });
    const out = join(newFolder(), "run");
    const { call, events, ended } = startAsClient(out);
    expect((await call("Browser.getVersion")).product).toMatch(/Chrome/);
    const { targetId } = await call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
    await call("Page.navigate", { url: served.url }, sessionId);
    expect(await served.next()).toBe("4192");
    await call("Browser.close");
    const { code, stderr } = await ended;
    expect(code, stderr).toBe(0);
    expect(readRun(out)).toMatchObject({ modules: [{ instances: 1 }], heap: { allocations: 3 } });
    expect(JSON.stringify(events)).not.toContain("memshade");
  });
});
