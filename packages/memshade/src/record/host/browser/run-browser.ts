import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { UserError } from "../../../ground/bytes/errors.ts";
import { counted } from "../../../profile/model/counted.ts";
import type { RunEnd } from "../../../profile/model/run.ts";
import type { ToolOptions } from "../../tools/run-options.ts";
import { dieBySignal, onSignals, SAME_SIGNAL_MS, unlessSignalled } from "../run/die-by-signal.ts";
import { FolderClaim } from "../run/folder-claim.ts";
import { defaultOutTemplate, RunFolders } from "../run/run-folder.ts";
import { say } from "../run/terminal-line.ts";
import { BrowserRecording } from "./browser-recording.ts";
import type { BrowserSession } from "./browser-session.ts";
import type { CdpEvent, CdpValues } from "./cdp-pipe.ts";
import { type Chromium, hasDisplay, launchChromium, needsNoSandbox } from "./launch-chromium.ts";
import { onKeys, StatusLine } from "./terminal.ts";

export interface BrowserRun {
  url: string;
  /** The browser's program, if it was named. */
  browser?: string | undefined;
  browserArgs: readonly string[];
  headless?: boolean | undefined;
  /** Milliseconds after which the run ends. */
  forMs?: number | undefined;
  /** Origins whose pages are profiled besides that of `url`. */
  origins: readonly string[];
  allOrigins: boolean;
  /** Whether pages are freed of what their content security policies forbid. */
  bypassesPolicies: boolean;
  out?: string | undefined;
  isQuiet?: boolean | undefined;
  tools: ToolOptions;
  /** Is told of the folder of the profile, when everything else has been said. */
  onWritten?: ((folder: string) => Promise<void>) | undefined;
}

/**
 * Opens a page in a browser and writes the profile of the modules that it instantiates.
 *
 * @returns the exit code
 * @throws UserError where there is no such browser, or the page cannot be opened
 * @throws EndedBySignal where a signal comes before there is a page
 */
export async function runBrowser(run: BrowserRun): Promise<number> {
  const url = pageAddress(run.url);
  const template = run.out === undefined ? null : resolve(run.out);
  const folders = new RunFolders(
    template ?? defaultOutTemplate(process.cwd(), pageName(url)),
    template === null,
  );
  const claim = FolderClaim.take(folders.next(false));
  try {
    return await new BrowserSupervisor(run, url, folders, claim).run();
  } finally {
    claim.release();
  }
}

/**
 * The address that somebody means: one of the web, or a file. Hosts may stand without `http://`.
 *
 * @throws UserError
 */
export function pageAddress(text: string): string {
  const isFile = statSync(text, { throwIfNoEntry: false })?.isFile() === true;
  if (isFile) return pathToFileURL(text).href;
  // No host has such a name: somebody means a file.
  const isFileName = /^[^/:?#]+\.x?html?$/i.test(text);
  const guessed =
    !isFileName && /^(localhost|[\w.-]+\.\w+|\d+(\.\d+){3}|\[[\da-f:]+\])(:\d+)?([/?#]|$)/i.test(text);
  try {
    const url = new URL(guessed ? `http://${text}` : text);
    if (["http:", "https:", "file:", "data:"].includes(url.protocol)) return url.href;
  } catch {
    // It is told below.
  }
  throw new UserError(`${text}: it is no address of a page, such as http://localhost:5173/, and no file`);
}

/** Short name of a page: its host, or the file. */
function pageName(address: string): string {
  const { hostname, pathname, protocol } = new URL(address);
  if (protocol === "data:") return "page";
  if (hostname !== "") return hostname.replace(/[^\w.-]+/g, "");
  const last = decodeURIComponent(pathname.slice(pathname.lastIndexOf("/") + 1));
  return last.replace(/\.[^.]*$/, "") || "page";
}

/** Opens the page, and waits for what ends the run. */
class BrowserSupervisor {
  readonly #run: BrowserRun;
  readonly #url: string;
  readonly #recording: BrowserRecording;
  readonly #claim: FolderClaim;
  #chromium: Chromium | undefined;
  #session!: BrowserSession;
  #status: StatusLine | undefined;
  readonly #start = performance.now();
  #end!: (end: RunEnd) => void;
  readonly #ended = new Promise<RunEnd>((done) => {
    this.#end = done;
  });

  /** When the end began. Whoever gives a signal behind that has no patience. */
  #signalled: number | undefined;
  #hurry!: () => void;
  readonly #hurried = new Promise<false>((done) => {
    this.#hurry = () => done(false);
  });

  constructor(run: BrowserRun, url: string, folders: RunFolders, claim: FolderClaim) {
    this.#run = run;
    this.#url = url;
    this.#claim = claim;
    this.#recording = new BrowserRecording({
      tools: run.tools,
      command: [run.url],
      program: pageName(url),
      folders,
      claim,
      isQuiet: run.isQuiet === true,
      onWritten: run.onWritten,
      beforeLine: () => this.#status?.clear(),
    });
  }

  async run(): Promise<number> {
    const recording = this.#recording;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (this.#signalled === undefined) {
        this.#signalled = performance.now();
        this.#end({ kind: "signal", signal });
      } else if (performance.now() - this.#signalled > SAME_SIGNAL_MS) this.#hurry();
    };
    const stopListening = onSignals({
      SIGINT: onSignal,
      SIGTERM: onSignal,
      SIGHUP: onSignal,
      SIGUSR2: () => void recording.dump(),
    });
    try {
      await this.#open();
    } catch (error) {
      await this.#chromium?.close();
      throw error;
    }
    const stopKeys = onKeys(
      { d: () => void recording.dump(), r: () => void recording.reset(), q: () => this.#end(ENDED) },
      () => onSignal("SIGINT"),
    );
    this.#status = new StatusLine(() => this.#statusText(), this.#run.isQuiet !== true);
    const { forMs } = this.#run;
    const timer = forMs === undefined ? undefined : setTimeout(() => this.#end(ENDED), forMs);
    const end = await this.#ended;
    this.#signalled ??= performance.now();
    clearTimeout(timer);
    const isRead = await Promise.race([recording.collect(true).then(() => true), this.#hurried]);
    if (!isRead) recording.giveUp();
    this.#status.stop();
    stopKeys();
    await this.#chromium?.close();
    const code = await recording.finish(end);
    stopListening();
    if (end.kind === "signal" && end.signal !== "SIGINT" && code === 0) {
      this.#claim.release();
      dieBySignal(end.signal as NodeJS.Signals);
    }
    return code;
  }

  async #open(): Promise<void> {
    const { browser, browserArgs } = this.#run;
    const headless = this.#run.headless ?? !hasDisplay();
    if (needsNoSandbox()) say("the browser runs without its sandbox, which root cannot have");
    const events: CdpEvent[] = [];
    let take = (event: CdpEvent): void => void events.push(event);
    this.#chromium = await launchChromium(
      { browser, browserArgs, headless, url: "about:blank" },
      { onEvent: (event) => take(event), onGone: () => this.#end(ENDED) },
    );
    const { cdp } = this.#chromium;
    const origins = this.#run.allOrigins ? undefined : [originOf(this.#url), ...this.#run.origins];
    const { bypassesPolicies } = this.#run;
    const settings = { token: newToken(), origins, bypassesPolicies };
    this.#session = this.#recording.follow(cdp, settings, () => this.#end(ENDED));
    take = this.#session.take;
    for (const event of events) take(event);
    const page = await unlessSignalled(() => this.#session.start());
    // The page's own process may be another one, which knows only what this one has taken in.
    await Promise.race([page.injected, this.#ended]);
    const navigating = cdp.call("Page.navigate", { url: this.#url }, page.id);
    // A server may never answer.
    const { errorText } = await Promise.race([navigating, this.#ended.then((): CdpValues => ({}))]);
    if (errorText === undefined || errorText === "net::ERR_ABORTED") return;
    throw new UserError(`${this.#run.url}: the page cannot be opened (${errorText})`);
  }

  #statusText(): string {
    const seconds = Math.round((performance.now() - this.#start) / 1000);
    const { contexts, pages } = this.#session;
    const workers = contexts.filter(({ session }) => session.isWorker).length;
    return `memshade: ${seconds} s, ${[
      counted(pages.length, "page"),
      ...(workers === 0 ? [] : [counted(workers, "worker")]),
      counted(this.#recording.instanceCount, "instance"),
    ].join(", ")}${process.stdin.isTTY ? "; keys: d dump, r reset, q end" : ""}`;
  }
}

const ENDED: RunEnd = { kind: "exit", exitCode: 0 };

/** Names what is ours in a run. */
export function newToken(): string {
  return `memshade${randomBytes(16).toString("hex")}`;
}

/** The origin of the pages at an address, as they name it themselves. */
function originOf(address: string): string {
  return new URL(address).origin;
}
