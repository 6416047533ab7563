import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { madeUpPage } from "./made-up-page.ts";
import { pageOf } from "./open-page.ts";

const FIREFOX = ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find((path) => existsSync(path));
if (FIREFOX === undefined)
  console.warn("SKIPPED: Firefox is not installed, no report page is opened in it (Debian: firefox-esr)");

const folder = mkdtempSync(join(tmpdir(), "memshade-firefox-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));

/** Sends commands of WebDriver BiDi, one at a time. */
class Driver {
  readonly #socket: WebSocket;
  #last = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  send<Result>(method: string, params: object): Promise<Result> {
    const id = ++this.#last;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => {
      const listen = ({ data }: MessageEvent): void => {
        const message = JSON.parse(String(data));
        if (message.id !== id) return;
        this.#socket.removeEventListener("message", listen);
        if (message.type === "error") reject(new Error(message.message));
        else resolve(message.result);
      };
      this.#socket.addEventListener("message", listen);
    });
  }
}

async function startFirefox(): Promise<{ driver: Driver; stop(): Promise<void> }> {
  const firefox = spawn(
    FIREFOX!,
    ["--headless", "--no-remote", "--profile", folder, "--remote-debugging-port", "0", "about:blank"],
    { env: { ...process.env, HOME: folder }, stdio: ["ignore", "ignore", "pipe"] },
  );
  const address = await new Promise<string>((resolve, reject) => {
    let said = "";
    firefox.stderr.on("data", (chunk) => {
      said += chunk;
      const found = /WebDriver BiDi listening on (ws:\S+)/.exec(said);
      if (found !== null) resolve(found[1]!);
    });
    firefox.on("exit", () => reject(new Error(said)));
  });
  const socket = new WebSocket(`${address}/session`);
  await once(socket, "open");
  return {
    driver: new Driver(socket),
    async stop() {
      const ended = once(firefox, "exit");
      socket.close();
      firefox.kill();
      await ended;
    },
  };
}

describe.skipIf(FIREFOX === undefined)("the report page in Firefox", () => {
  it("opens from the disk, and says what the problem is", async () => {
    const data = madeUpPage();
    const file = join(folder, "page.html");
    writeFileSync(file, await pageOf(data));
    const { driver, stop } = await startFirefox();
    try {
      await driver.send("session.new", { capabilities: {} });
      const { contexts } = await driver.send<{ contexts: { context: string }[] }>(
        "browsingContext.getTree",
        {},
      );
      const { context } = contexts[0]!;
      await driver.send("browsingContext.navigate", {
        context,
        url: pathToFileURL(file).href,
        wait: "complete",
      });
      const said = await driver.send<{ result: { value: string } }>("script.evaluate", {
        expression: `new Promise((resolve) => {
          const look = () => {
            const says = document.querySelector(".finding .says");
            if (says === null) setTimeout(look, 50);
            else resolve(says.textContent);
          };
          look();
        })`,
        target: { context },
        awaitPromise: true,
      });
      expect(said.result.value).toBe(data.findings[0].says);
    } finally {
      await stop();
    }
  });
});
