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
  /** The browser's program. */
  browser: string;
  /** Arguments for it, as the client gave them. */
  args: readonly string[];
  /** Origins whose pages are profiled; none: all. */
  origins: readonly string[];
  /** Whether pages are freed of what their content security policies forbid. */
  bypassesPolicies: boolean;
  out?: string | undefined;
  isQuiet?: boolean | undefined;
  tools: ToolOptions;
  onWritten?: ((folder: string) => Promise<void>) | undefined;
}

const PIPE = "--remote-debugging-pipe";
/** Commands of the client behind which there may be nothing to read any more. */
const ENDING = ["Browser.close", "Page.close", "Target.closeTarget", "Target.disposeBrowserContext"];

/**
 * Stands in for Chromium under a client that speaks the protocol over a pipe, such as Playwright: starts it with the client's arguments,
 * hands on what both say, and has an agent in every context before the client hears of it.
 *
 * @returns the exit code
 * @throws UserError where the client uses no pipe
 */
export async function runAsBrowser(run: ClientRun): Promise<number> {
  assertPipe(run.args);
  const { out, onWritten } = run;
  const program = programName(run.browser);
  // Runs of a client come one after the other, and all of them stay.
  return supervise({ out: out && resolve(out), program, isHeld: true, onWritten }, (place) =>
    new Relay(run, place).run(),
  );
}

function assertPipe(args: readonly string[]): void {
  const port = args.find((arg) => arg.startsWith("--remote-debugging-port"));
  if (port !== undefined && !args.includes(PIPE))
    throw new UserError(
      `the client wants to reach the browser by ${port}: let it use a pipe (Puppeteer: pipe: true; Playwright does)`,
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
  /** What the client is to hear, in order, once what stands before it is settled. */
  #clientQueue: Promise<unknown> = Promise.resolve();
  #browserQueue: Promise<unknown> = Promise.resolve();
  /** Targets that are being attached to: the next that is told of them is for us. */
  readonly #attaching = new Set<string>();
  /** The targets of the client's sessions. */
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
    // A name alone is one of those that are looked for.
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
    // As a file it would keep this process from ending while nothing comes.
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

  /** What the client says: before it ends something, what is there is read. */
  #takeFromClient(text: string): void {
    const { method } = JSON.parse(text) as CdpValues;
    this.#browserQueue = this.#browserQueue
      .then(() => (ENDING.includes(method) ? this.#recording.collect(method === "Browser.close") : undefined))
      .then(() => this.#cdp?.relay(text));
  }

  /** What the browser says to the client. True: it is for the client. */
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
      // What agents do is no business of the client: requests, messages of the console.
      if (text.includes(this.#token)) return true;
    }
    this.#clientQueue = this.#clientQueue.then(() => void this.#toClient.write(`${text}\0`));
    return true;
  }

  /** Brings the agent in before the client hears of a target, and of anything behind it: clients rely on the order. */
  #attach(target: string, parent: string | undefined): void {
    const session = this.#session as BrowserSession;
    if (session.hasTarget(target)) return;
    this.#attaching.add(target);
    const attaching = session.attach(target, parent).catch(() => {
      // It has gone already.
      this.#attaching.delete(target);
    });
    this.#clientQueue = this.#clientQueue.then(() => attaching);
  }
}
