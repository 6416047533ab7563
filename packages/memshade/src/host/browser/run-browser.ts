import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { UserError } from "../../bytes/errors.ts";
import { counted } from "../../model/counted.ts";
import type { RunEnd } from "../../model/run.ts";
import type { ToolOptions } from "../../tools/run-options.ts";
import { LearnedRuns } from "../learned-runs.ts";
import { moduleLines } from "../module/module-lines.ts";
import { moduleTypes } from "../module/module-types.ts";
import { dieBySignal, onSignals } from "../run/die-by-signal.ts";
import { FolderClaim } from "../run/folder-claim.ts";
import { takeRun } from "../run/measured.ts";
import { NOT_WRITTEN, sayNotWritten } from "../run/profile-failure.ts";
import { Recorder } from "../run/recorder.ts";
import { defaultOutTemplate, RunFolders } from "../run/run-folder.ts";
import { say, sayWritten } from "../run/terminal-line.ts";
import { BrowserSession } from "./browser-session.ts";
import type { CdpEvent } from "./cdp-pipe.ts";
import { Images } from "./images.ts";
import { type Chromium, hasDisplay, launchChromium, needsNoSandbox } from "./launch-chromium.ts";
import { ModuleService } from "./module-service.ts";
import { PageRun } from "./page-run.ts";
import { PageTexts } from "./page-texts.ts";
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
  const guessed = /^(localhost|[\w.-]+\.\w+|\d+(\.\d+){3}|\[[\da-f:]+\])(:\d+)?([/?#]|$)/i.test(text);
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

class BrowserSupervisor {
  readonly #run: BrowserRun;
  readonly #url: string;
  readonly #folders: RunFolders;
  readonly #claim: FolderClaim;
  readonly #recorder: Recorder;
  readonly #modules: ModuleService;
  #chromium!: Chromium;
  #pageRun!: PageRun;
  #session!: BrowserSession;
  #status: StatusLine | undefined;
  readonly #start = performance.now();
  #end!: (end: RunEnd) => void;
  readonly #ended = new Promise<RunEnd>((done) => {
    this.#end = done;
  });

  constructor(run: BrowserRun, url: string, folders: RunFolders, claim: FolderClaim) {
    this.#run = run;
    this.#url = url;
    this.#folders = folders;
    this.#claim = claim;
    this.#recorder = new Recorder({
      tools: run.tools,
      command: [run.url],
      program: pageName(url),
      observesHost: true,
      linesOf: moduleLines,
      typesOf: moduleTypes,
    });
    this.#modules = new ModuleService(run.tools, (sentence) => this.#note(sentence));
  }

  async run(): Promise<number> {
    const stopListening = onSignals({
      SIGINT: (signal) => this.#end({ kind: "signal", signal }),
      SIGTERM: (signal) => this.#end({ kind: "signal", signal }),
      SIGHUP: (signal) => this.#end({ kind: "signal", signal }),
      SIGUSR2: () => void this.#dump(),
    });
    await this.#open();
    const stopKeys = onKeys(
      {
        d: () => void this.#dump(),
        r: () => void this.#reset(),
        q: () => this.#end({ kind: "exit", exitCode: 0 }),
      },
      () => this.#end({ kind: "signal", signal: "SIGINT" }),
    );
    this.#status = new StatusLine(() => this.#statusText(), this.#run.isQuiet !== true);
    const timer =
      this.#run.forMs === undefined
        ? undefined
        : setTimeout(() => this.#end({ kind: "exit", exitCode: 0 }), this.#run.forMs);
    const end = await this.#ended;
    clearTimeout(timer);
    await this.#pageRun.collect(true);
    this.#status.stop();
    stopKeys();
    await this.#chromium.close();
    const code = await this.#finish(end);
    stopListening();
    if (end.kind === "signal" && end.signal !== "SIGINT" && code === 0)
      dieBySignal(end.signal as NodeJS.Signals);
    return code;
  }

  async #open(): Promise<void> {
    const { browser, browserArgs } = this.#run;
    const headless = this.#run.headless ?? !hasDisplay();
    if (needsNoSandbox()) say("the browser runs without its sandbox, which root cannot have");
    const settings = {
      token: `memshade${randomBytes(16).toString("hex")}`,
      origins: this.#run.allOrigins ? undefined : [originOf(this.#url), ...this.#run.origins],
    };
    const events: CdpEvent[] = [];
    let take = (event: CdpEvent): void => void events.push(event);
    this.#chromium = await launchChromium(
      { browser, browserArgs, headless, url: "about:blank" },
      (event) => take(event),
      () => this.#end({ kind: "exit", exitCode: 0 }),
    );
    const { cdp } = this.#chromium;
    this.#pageRun = new PageRun({
      cdp,
      recorder: this.#recorder,
      images: new Images(this.#recorder, this.#modules.original),
      modules: this.#modules,
      texts: new PageTexts(cdp),
      note: (sentence) => this.#note(sentence),
      onEmpty: () => this.#end({ kind: "exit", exitCode: 0 }),
    });
    const session = (this.#session = new BrowserSession(cdp, this.#pageRun, settings, {
      agent: readScript("browser-agent.js"),
      reader: readScript("browser-reader.js"),
    }));
    this.#pageRun.browser = session;
    take = session.take;
    for (const event of events) take(event);
    const page = await session.start();
    const { errorText } = await cdp.call("Page.navigate", { url: this.#url }, page.id);
    if (errorText === undefined || errorText === "net::ERR_ABORTED") return;
    await this.#chromium.close();
    throw new UserError(`${this.#run.url}: the page cannot be opened (${errorText})`);
  }

  #note(sentence: string): void {
    this.#recorder.note(sentence);
    this.#say(sentence);
  }

  #say(sentence: string): void {
    this.#status?.clear();
    say(sentence);
  }

  #statusText(): string {
    const seconds = Math.round((performance.now() - this.#start) / 1000);
    const { contexts, pages } = this.#session;
    const workers = contexts.filter(({ session }) => session.isWorker).length;
    return `memshade: ${seconds} s, ${[
      counted(pages.length, "page"),
      ...(workers === 0 ? [] : [counted(workers, "worker")]),
      counted(this.#recorder.instanceCount, "instance"),
    ].join(", ")}; keys: d dump, r reset, q end`;
  }

  async #reset(): Promise<void> {
    await this.#pageRun.collect(false, true);
    this.#recorder.reset();
    this.#say("what was recorded so far is forgotten; blocks that live now stay known");
  }

  async #dump(): Promise<void> {
    await this.#pageRun.collect(false);
    if (this.#recorder.instanceCount === 0) {
      this.#say("nothing to dump yet: no WebAssembly module has been instantiated");
      return;
    }
    const folder = this.#folders.next(true);
    try {
      const claim = FolderClaim.take(folder);
      try {
        claim.write(takeRun(this.#recorder, { kind: "dump" }, this.#modules.rewritingMs).files);
      } finally {
        claim.release();
      }
      this.#recorder.forgetReach();
      this.#status?.clear();
      sayWritten(folder, process.cwd(), "dump");
    } catch (error) {
      sayNotWritten(folder, process.cwd(), error);
    }
  }

  async #finish(end: RunEnd): Promise<number> {
    if (this.#recorder.instanceCount === 0) {
      say("no WebAssembly module was instantiated; nothing was written");
      return 0;
    }
    const { mistake } = this.#modules.allocatorOption;
    if (mistake !== undefined) this.#note(mistake);
    const { folder } = this.#claim;
    try {
      const { profile, files } = takeRun(this.#recorder, end, this.#modules.rewritingMs);
      profile.warnings.forEach(say);
      this.#claim.write(files);
      if (!new LearnedRuns(this.#run.tools.learn).keep(profile.siteRuns)) return NOT_WRITTEN;
    } catch (error) {
      sayNotWritten(folder, process.cwd(), error);
      return NOT_WRITTEN;
    }
    if (this.#run.isQuiet !== true) sayWritten(folder, process.cwd(), "profile");
    await this.#run.onWritten?.(folder);
    return mistake === undefined ? 0 : 2;
  }
}

/** The origin of the pages at an address, as they name it themselves. */
function originOf(address: string): string {
  return new URL(address).origin;
}

/** A script of the agents. It lies beside what is built, and the sources find it there. */
function readScript(name: string): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    for (const place of [join(folder, name), join(folder, "dist", name)])
      if (existsSync(place)) return readFileSync(place, "utf8");
    if (folder === dirname(folder)) throw new UserError(`${name} is not part of this installation`);
  }
}
