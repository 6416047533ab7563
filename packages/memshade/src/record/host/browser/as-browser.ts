import { fstatSync } from "node:fs";
import { Socket } from "node:net";
import { resolve } from "node:path";
import type { Writable } from "node:stream";
import { UserError } from "../../../ground/bytes/errors.ts";
import type { ToolOptions } from "../../tools/run-options.ts";
import { programName } from "../run/run-folder.ts";
import { EndSignals, type RunOutcome, type RunPlace, supervise } from "../run/supervise.ts";
import type { BrowserSession } from "./browser-session.ts";
import { type CdpEvent, type CdpPipe, type CdpValues, onMessages } from "./cdp-pipe.ts";
import { type Chromium, findChromium, launchChromium } from "./launch-chromium.ts";
import { BrowserRecording, newToken } from "./run-browser.ts";

export interface ClientRun {
  browser: string;
  args: readonly string[];
  /** Origins whose pages are profiled; empty: all. */
  origins: readonly string[];
  /** True if the pages' content security policies are disabled. */
  bypassesPolicies: boolean;
  out?: string | undefined;
  isQuiet?: boolean | undefined;
  tools: ToolOptions;
  onWritten?: ((folder: string) => Promise<void>) | undefined;
}

const PIPE = "--remote-debugging-pipe";
/** Commands of the client after which the tables may be gone. */
const ENDING = ["Browser.close", "Page.close", "Target.closeTarget", "Target.disposeBrowserContext"];

/**
 * Takes the place of Chromium for a client that speaks the protocol over a pipe, such as Playwright. Starts Chromium
 * with the client's arguments, relays messages in both directions, and injects an agent into every context before the
 * client is notified of it.
 * @returns the exit code
 * @throws UserError if the client uses no pipe
 */
export async function runAsBrowser(run: ClientRun): Promise<number> {
  assertPipe(run.args);
  const { out, onWritten } = run;
  const program = programName(run.browser);
  // Clients start several runs one after the other, and all profiles are kept.
  return supervise({ out: out && resolve(out), program, isHeld: true, onWritten }, (place) =>
    new Relay(run, place).run(),
  );
}

function assertPipe(args: readonly string[]): void {
  const port = args.find((arg) => arg.startsWith("--remote-debugging-port"));
  if (port !== undefined && !args.includes(PIPE))
    throw new UserError(
      `the client connects to the browser by ${port}: configure it to use a pipe (Puppeteer: pipe: true; Playwright does)`,
    );
  if (!args.includes(PIPE) || !isOpen(3) || !isOpen(4))
    throw new UserError(
      `--as-browser is started by a client such as Playwright, which gives it ${PIPE} and the file descriptors 3 and 4`,
    );
}

function isOpen(descriptor: number): boolean {
  try {
    fstatSync(descriptor);
    return true;
  } catch {
    return false;
  }
}

class Relay {
  readonly #run: ClientRun;
  readonly #recording: BrowserRecording;
  readonly #token = newToken();
  #chromium!: Chromium;
  #cdp: CdpPipe | undefined;
  #session: BrowserSession | undefined;
  readonly #toClient: Writable = new Socket({ fd: 4, readable: false, writable: true });
  /** Messages to the client, in order. Each waits for the steps before it. */
  #clientQueue: Promise<unknown> = Promise.resolve();
  #browserQueue: Promise<unknown> = Promise.resolve();
  /** Targets that are being attached to: the next event about one of them is not for the client. */
  readonly #attaching = new Set<string>();
  readonly #targets = new Map<string, string>();
  #end!: () => void;
  readonly #ended = new Promise<void>((done) => {
    this.#end = done;
  });

  constructor(run: ClientRun, place: RunPlace) {
    this.#run = run;
    this.#recording = new BrowserRecording({
      tools: run.tools,
      command: [run.browser, ...run.args],
      place,
      program: programName(run.browser),
      isQuiet: run.isQuiet === true,
      beforeLine: () => {},
    });
  }

  async run(): Promise<RunOutcome> {
    const { args, origins, bypassesPolicies } = this.#run;
    // The bare name `chromium` means the installed browser.
    const browser = this.#run.browser === "chromium" ? findChromium(undefined) : this.#run.browser;
    const early: [text: string, event: CdpEvent | undefined][] = [];
    this.#toClient.on("error", () => {});
    this.#chromium = await launchChromium(
      { browser, args },
      {
        onEvent: (event) => this.#session?.take(event),
        onGone: () => this.#end(),
        takeForeign: (text, event) => {
          if (this.#session === undefined) early.push([text, event]);
          else return this.#takeForeign(text, event);
          return true;
        },
      },
    );
    const { cdp } = this.#chromium;
    this.#cdp = cdp;
    const settings = {
      token: this.#token,
      origins: origins.length === 0 ? undefined : origins,
      bypassesPolicies,
    };
    this.#session = this.#recording.follow(cdp, settings, () => {});
    for (const [text, event] of early) this.#takeForeign(text, event);
    // A socket, since a file would keep this process alive while nothing arrives.
    const fromClient = new Socket({ fd: 3, readable: true, writable: false });
    onMessages(fromClient, (text) => this.#takeFromClient(text));
    fromClient.on("error", () => this.#end());
    fromClient.on("close", () => this.#end());
    const signals = new EndSignals(
      () => this.#end(),
      () => {},
    );
    const stopListening = signals.listen(() => void this.#recording.dump());
    await this.#ended;
    await this.#recording.collect(true);
    await this.#chromium.close();
    const outcome = this.#recording.finish({ kind: "exit", exitCode: 0 });
    stopListening();
    return outcome;
  }

  /** Relays a message of the client. Reads the tables before a command that ends their contexts. */
  #takeFromClient(text: string): void {
    const { method } = JSON.parse(text) as CdpValues;
    this.#browserQueue = this.#browserQueue
      .then(() => (ENDING.includes(method) ? this.#recording.collect(method === "Browser.close") : undefined))
      .then(() => this.#cdp?.relay(text));
  }

  /** Handles a message of the browser. Returns true if it is for the client. */
  #takeForeign(text: string, event: CdpEvent | undefined): boolean {
    const session = this.#session as BrowserSession;
    if (event !== undefined) {
      const { method, params, sessionId } = event;
      if (sessionId !== undefined && session.has(sessionId)) return false;
      if (method === "Target.detachedFromTarget" && session.has(params.sessionId)) return false;
      if (method === "Target.attachedToTarget") {
        const { targetId } = params.targetInfo;
        if (sessionId === undefined && this.#attaching.delete(targetId)) return false;
        this.#targets.set(params.sessionId, targetId);
        this.#attach(targetId, this.#targets.get(sessionId ?? ""));
      }
      // Messages caused by agents, such as requests and console messages, are hidden from the client.
      if (text.includes(this.#token)) return true;
    }
    this.#clientQueue = this.#clientQueue.then(() => void this.#toClient.write(`${text}\0`));
    return true;
  }

  /**
   * Injects the agent before the client is notified of a target, or of anything after it, since clients rely on the
   * order.
   */
  #attach(target: string, parent: string | undefined): void {
    const session = this.#session as BrowserSession;
    if (session.hasTarget(target)) return;
    this.#attaching.add(target);
    const attaching = session.attach(target, parent).catch(() => {
      // The target is gone already.
      this.#attaching.delete(target);
    });
    this.#clientQueue = this.#clientQueue.then(() => attaching);
  }
}
