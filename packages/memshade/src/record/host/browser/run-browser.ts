import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, statSync, writeSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isatty } from "node:tty";
import { fileURLToPath, pathToFileURL } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { UserError } from "../../../ground/bytes/errors.ts";
import { counted } from "../../../profile/model/counted.ts";
import { printable } from "../../../profile/model/printable.ts";
import type { RunEnd } from "../../../profile/model/run.ts";
import type { ToolOptions } from "../../tools/run-options.ts";
import { LearnedRuns } from "../learned-runs.ts";
import { ScriptFrames } from "../module/script-frames.ts";
import { unlessSignalled } from "../run/die-by-signal.ts";
import { writeRunFolder } from "../run/folder-claim.ts";
import { takeRun } from "../run/measured.ts";
import { NOT_WRITTEN, sayNotWritten } from "../run/profile-failure.ts";
import { type ProfileFile, Recorder } from "../run/recorder.ts";
import { EndSignals, type RunOutcome, type RunPlace, supervise } from "../run/supervise.ts";
import { say, sayWritten } from "../run/terminal-line.ts";
import { type AgentScripts, BrowserSession, type SessionSettings } from "./browser-session.ts";
import type { CdpEvent, CdpPipe, CdpValues } from "./cdp-pipe.ts";
import { type Chromium, hasDisplay, launchChromium, needsNoSandbox } from "./launch-chromium.ts";
import { Images, ModuleService, PageSymbols, PageTexts } from "./module-service.ts";
import { PageRun } from "./page-run.ts";

export interface BrowserRun {
  url: string;
  browser?: string | undefined;
  browserArgs: readonly string[];
  headless?: boolean | undefined;
  forMs?: number | undefined;
  /** Origins whose pages are profiled besides that of `url`. */
  origins: readonly string[];
  allOrigins: boolean;
  /** True if the pages' content security policies are disabled. */
  bypassesPolicies: boolean;
  out?: string | undefined;
  isQuiet?: boolean | undefined;
  tools: ToolOptions;
  /** Called with the folder of the profile, after all messages were printed. */
  onWritten?: ((folder: string) => Promise<void>) | undefined;
}

/**
 * Opens a page in a browser and writes the profile of the modules that it instantiates.
 * @returns the exit code
 * @throws UserError if there is no such browser, or the page cannot be opened
 * @throws EndedBySignal if a signal arrives before there is a page
 */
export async function runBrowser(run: BrowserRun): Promise<number> {
  const url = pageAddress(run.url);
  const { out, onWritten } = run;
  return supervise({ out: out && resolve(out), program: pageName(url), isHeld: true, onWritten }, (place) =>
    new BrowserSupervisor(run, url, place).run(),
  );
}

/**
 * Returns the address of a web page or a file. Hosts may be given without `http://`.
 * @throws UserError
 */
export function pageAddress(text: string): string {
  const isFile = statSync(text, { throwIfNoEntry: false })?.isFile() === true;
  if (isFile) return pathToFileURL(text).href;
  // No host has such a name, so it must be a file.
  const isFileName = /^[^/:?#]+\.x?html?$/i.test(text);
  const guessed =
    !isFileName && /^(localhost|[\w.-]+\.\w+|\d+(\.\d+){3}|\[[\da-f:]+\])(:\d+)?([/?#]|$)/i.test(text);
  try {
    const url = new URL(guessed ? `http://${text}` : text);
    if (["http:", "https:", "file:", "data:"].includes(url.protocol)) return url.href;
  } catch {
    // The error follows below.
  }
  throw new UserError(`${text}: neither the address of a page, such as http://localhost:5173/, nor a file`);
}

/** Returns a short name of a page: its host, or the file. */
function pageName(address: string): string {
  const { hostname, pathname, protocol } = new URL(address);
  if (protocol === "data:") return "page";
  if (hostname !== "") return hostname.replace(/[^\w.-]+/g, "");
  const last = decodeURIComponent(pathname.slice(pathname.lastIndexOf("/") + 1));
  return last.replace(/\.[^.]*$/, "") || "page";
}

class BrowserSupervisor {
  readonly #run: BrowserRun;
  readonly #url: string;
  readonly #recording: BrowserRecording;
  #chromium: Chromium | undefined;
  #session!: BrowserSession;
  #status: StatusLine | undefined;
  readonly #start = performance.now();
  #end!: (end: RunEnd) => void;
  readonly #ended = new Promise<RunEnd>((done) => {
    this.#end = done;
  });

  #hurry!: () => void;
  readonly #hurried = new Promise<false>((done) => {
    this.#hurry = () => done(false);
  });

  constructor(run: BrowserRun, url: string, place: RunPlace) {
    this.#run = run;
    this.#url = url;
    this.#recording = new BrowserRecording({
      tools: run.tools,
      command: [run.url],
      program: pageName(url),
      place,
      isQuiet: run.isQuiet === true,
      beforeLine: () => this.#status?.clear(),
    });
  }

  async run(): Promise<RunOutcome> {
    const recording = this.#recording;
    const signals = new EndSignals(
      (signal) => this.#end({ kind: "signal", signal }),
      () => this.#hurry(),
    );
    const stopListening = signals.listen(() => void recording.dump());
    try {
      await this.#open();
    } catch (error) {
      await this.#chromium?.close();
      throw error;
    }
    const stopKeys = onKeys(
      { d: () => void recording.dump(), r: () => void recording.reset(), q: () => this.#end(ENDED) },
      () => signals.take("SIGINT"),
    );
    this.#status = new StatusLine(() => this.#statusText(), this.#run.isQuiet !== true);
    const { forMs } = this.#run;
    const timer = forMs === undefined ? undefined : setTimeout(() => this.#end(ENDED), forMs);
    const end = await this.#ended;
    clearTimeout(timer);
    const isRead = await Promise.race([recording.collect(true).then(() => true), this.#hurried]);
    if (!isRead) recording.giveUp();
    this.#status.stop();
    stopKeys();
    await this.#chromium?.close();
    const outcome = recording.finish(end);
    stopListening();
    // Control-C is the usual end of such a run.
    const isEnded = end.kind === "signal" && end.signal !== "SIGINT" && outcome.code === 0;
    return isEnded ? { ...outcome, signal: end.signal } : outcome;
  }

  async #open(): Promise<void> {
    const { browser, browserArgs } = this.#run;
    const headless = this.#run.headless ?? !hasDisplay();
    if (needsNoSandbox()) say("the browser runs without its sandbox, because root cannot use it");
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
    // The page may have a process of its own, which has only the commands that this one has processed.
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

export function newToken(): string {
  return `memshade${randomBytes(16).toString("hex")}`;
}

function originOf(address: string): string {
  return new URL(address).origin;
}

interface RecordingOptions {
  tools: ToolOptions;
  /** Page or client command that the user gave, and its short name. */
  command: readonly string[];
  program: string;
  place: RunPlace;
  isQuiet: boolean;
  /** Clears the line for a message. */
  beforeLine(): void;
}

/** Recording of one browser, and its output folders. */
export class BrowserRecording {
  readonly #options: RecordingOptions;
  readonly #recorder: Recorder;
  readonly #modules: ModuleService;
  #pageRun!: PageRun;
  #isClaimUsed = false;
  #texts: PageTexts | undefined;
  #symbols: PageSymbols | undefined;
  readonly #frames = new ScriptFrames((place) => this.#texts?.read(place));

  constructor(options: RecordingOptions) {
    const { tools, command, program } = options;
    this.#options = options;
    this.#recorder = new Recorder({
      tools,
      command,
      program,
      observesHost: true,
      linesOf: (original) => this.#symbols?.linesOf(original),
      typesOf: (original) => this.#symbols?.typesOf(original),
      describeFrame: (frame) => this.#frames.describe(frame),
    });
    this.#modules = new ModuleService(tools, (sentence) => this.#note(sentence));
  }

  get instanceCount(): number {
    return this.#recorder.instanceCount;
  }

  /** Observes the contexts of a browser. @param onEmpty is called when the last page was closed */
  follow(cdp: CdpPipe, settings: SessionSettings, onEmpty: () => void): BrowserSession {
    this.#texts = new PageTexts(cdp);
    this.#symbols = new PageSymbols(this.#texts, (sentence) => this.#note(sentence));
    this.#pageRun = new PageRun({
      cdp,
      recorder: this.#recorder,
      images: new Images(this.#recorder, this.#modules.original),
      modules: this.#modules,
      texts: this.#texts,
      symbols: this.#symbols,
      note: (sentence, isMissing) => this.#note(sentence, isMissing),
      onEmpty,
    });
    const session = new BrowserSession(cdp, this.#pageRun, settings, readScripts());
    this.#pageRun.browser = session;
    return session;
  }

  /** Reads the tables of all contexts. `isEnd`: busy contexts are stopped. */
  async collect(isEnd: boolean): Promise<void> {
    await this.#pageRun.collect(isEnd);
    await this.#texts?.settled();
  }

  giveUp(): void {
    this.#note("ended at once: figures that were not read yet are missing", true);
    this.#pageRun.giveUp();
  }

  #note(sentence: string, isMissing = false): void {
    this.#recorder.note(sentence, isMissing);
    this.#say(sentence);
  }

  #say(sentence: string): void {
    this.#options.beforeLine();
    say(sentence);
  }

  async reset(): Promise<void> {
    await this.#pageRun.collect(false, true);
    this.#recorder.reset();
    this.#say("the figures so far are discarded; live blocks are still recorded");
  }

  async dump(): Promise<void> {
    await this.collect(false);
    if (this.#recorder.instanceCount === 0) {
      this.#say("nothing to dump yet: no WebAssembly module has been instantiated");
      return;
    }
    const folder = this.#options.place.folders.next(true);
    this.#options.beforeLine();
    try {
      this.#write(folder, this.#take({ kind: "dump" }).files);
      this.#recorder.forgetReach();
      sayWritten(folder, process.cwd(), "dump");
    } catch (error) {
      sayNotWritten(folder, process.cwd(), error);
    }
  }

  #take(end: RunEnd): ReturnType<typeof takeRun> {
    return takeRun(this.#recorder, end, this.#modules.rewritingMs, true);
  }

  /** If dumps are numbered like the run, the first one gets the folder that was claimed. */
  #write(folder: string, files: readonly ProfileFile[]): void {
    const { claim } = this.#options.place;
    if (folder === claim?.folder) {
      this.#isClaimUsed = true;
      claim.write(files);
    } else writeRunFolder(folder, files);
  }

  finish(end: RunEnd): RunOutcome {
    const { place, tools, isQuiet } = this.#options;
    const { mistake } = this.#modules.allocatorOption;
    if (mistake !== undefined) this.#note(mistake);
    const code = mistake === undefined ? 0 : 2;
    if (this.#recorder.instanceCount === 0) {
      say("no WebAssembly module was instantiated; nothing was written");
      return { code };
    }
    const folder = this.#isClaimUsed ? place.folders.next(false) : place.folder;
    let isLearned = true;
    try {
      const { profile, files } = this.#take(end);
      profile.warnings.forEach(say);
      this.#write(folder, files);
      isLearned = new LearnedRuns(tools.learn).keep(profile.siteRuns);
    } catch (error) {
      sayNotWritten(folder, process.cwd(), error);
      return { code: NOT_WRITTEN };
    }
    if (!isQuiet) sayWritten(folder, process.cwd(), "profile");
    return { code: isLearned ? code : NOT_WRITTEN, written: folder };
  }
}

const AGENT_FILE = "browser-agent.br";

/** Reads the scripts of the agents. The file is beside the built code, or in `dist` when running from source. */
function readScripts(): AgentScripts {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    for (const place of [join(folder, AGENT_FILE), join(folder, "dist", AGENT_FILE)])
      if (existsSync(place))
        return JSON.parse(brotliDecompressSync(readFileSync(place)).toString()) as AgentScripts;
    if (folder === dirname(folder)) throw new UserError(`${AGENT_FILE} is not part of this installation`);
  }
}

const SHOWN_EVERY_MS = 1000;
const ERASE_LINE = "\r\u001b[K";
const CONTROL_C = "\u0003";

/** Shows a changing line in the terminal during a run; nothing if standard error is not a terminal. */
class StatusLine {
  readonly #timer: NodeJS.Timeout | undefined;
  #isShown = false;

  constructor(text: () => string, isWanted: boolean) {
    if (!isWanted || !isatty(2)) return;
    this.#timer = setInterval(() => this.#show(text()), SHOWN_EVERY_MS);
    this.#timer.unref();
  }

  /** The line is cut, since a line that wraps could not be erased. */
  #show(text: string): void {
    this.#write(`${ERASE_LINE}${printable(text).slice(0, (process.stderr.columns || 80) - 1)}`, true);
  }

  /** Erases the line for a message. */
  clear(): void {
    if (this.#isShown) this.#write(ERASE_LINE, false);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.clear();
  }

  #write(text: string, isShown: boolean): void {
    try {
      writeSync(2, text);
    } catch {
      // The terminal is gone.
    }
    this.#isShown = isShown;
  }
}

/**
 * Listens to single keys, if there is a terminal.
 * @returns a function that stops listening
 */
function onKeys(keys: Readonly<Record<string, () => void>>, interrupt: () => void): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) return () => {};
  const take = (data: Buffer): void => {
    for (const key of data.toString())
      if (key === CONTROL_C) interrupt();
      else keys[key.toLowerCase()]?.();
  };
  stdin.setRawMode(true);
  stdin.on("data", take);
  stdin.resume();
  return () => {
    stdin.off("data", take);
    stdin.setRawMode(false);
    stdin.pause();
  };
}
