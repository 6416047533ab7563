import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { UserError } from "../../../ground/bytes/errors.ts";
import type { RunEnd } from "../../../profile/model/run.ts";
import type { ToolOptions } from "../../tools/run-options.ts";
import { LearnedRuns } from "../learned-runs.ts";
import { ScriptFrames } from "../module/script-frames.ts";
import { type FolderClaim, writeRunFolder } from "../run/folder-claim.ts";
import { takeRun } from "../run/measured.ts";
import { NOT_WRITTEN, sayNotWritten } from "../run/profile-failure.ts";
import { type ProfileFile, Recorder } from "../run/recorder.ts";
import type { RunFolders } from "../run/run-folder.ts";
import { say, sayWritten } from "../run/terminal-line.ts";
import { type AgentScripts, BrowserSession, type SessionSettings } from "./browser-session.ts";
import type { CdpPipe } from "./cdp-pipe.ts";
import { Images } from "./images.ts";
import { ModuleService } from "./module-service.ts";
import { PageRun } from "./page-run.ts";
import { PageSymbols } from "./page-symbols.ts";
import { PageTexts } from "./page-texts.ts";

export interface RecordingOptions {
  tools: ToolOptions;
  /** What was asked for, and its short name. */
  command: readonly string[];
  program: string;
  folders: RunFolders;
  claim: FolderClaim;
  isQuiet: boolean;
  /** Is told of the folder of the profile, when everything else has been said. */
  onWritten?: ((folder: string) => Promise<void>) | undefined;
  /** Makes room for a line. */
  beforeLine(): void;
}

/** What is recorded of one browser, and its way into folders. */
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

  /** Instances that came into being so far. */
  get instanceCount(): number {
    return this.#recorder.instanceCount;
  }

  /** Follows the contexts of a browser. @param onEmpty is called when the last page was closed */
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

  /** Reads the tables of all contexts. `isEnd`: what is busy is made to stop. */
  async collect(isEnd: boolean): Promise<void> {
    await this.#pageRun.collect(isEnd);
    await this.#texts?.settled();
  }

  /** Ends without reading anything more. */
  giveUp(): void {
    this.#note("ended at once: what was not read yet is missing", true);
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

  /** Forgets what was recorded so far. */
  async reset(): Promise<void> {
    await this.#pageRun.collect(false, true);
    this.#recorder.reset();
    this.#say("what was recorded so far is forgotten; blocks that live now stay known");
  }

  /** Writes the profile up to now into a folder of its own. */
  async dump(): Promise<void> {
    await this.collect(false);
    if (this.#recorder.instanceCount === 0) {
      this.#say("nothing to dump yet: no WebAssembly module has been instantiated");
      return;
    }
    const folder = this.#options.folders.next(true);
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

  /** Where dumps are numbered as the run is, the first of them has the folder that was claimed. */
  #write(folder: string, files: readonly ProfileFile[]): void {
    const { claim } = this.#options;
    if (folder === claim.folder) {
      this.#isClaimUsed = true;
      claim.write(files);
    } else writeRunFolder(folder, files);
  }

  /** Writes the profile. @returns the exit code */
  async finish(end: RunEnd): Promise<number> {
    const { claim, folders, tools, isQuiet, onWritten } = this.#options;
    const { mistake } = this.#modules.allocatorOption;
    if (mistake !== undefined) this.#note(mistake);
    if (this.#recorder.instanceCount === 0) {
      say("no WebAssembly module was instantiated; nothing was written");
      return mistake === undefined ? 0 : 2;
    }
    const folder = this.#isClaimUsed ? folders.next(false) : claim.folder;
    let isLearned = true;
    try {
      const { profile, files } = this.#take(end);
      profile.warnings.forEach(say);
      this.#write(folder, files);
      isLearned = new LearnedRuns(tools.learn).keep(profile.siteRuns);
    } catch (error) {
      sayNotWritten(folder, process.cwd(), error);
      return NOT_WRITTEN;
    }
    if (!isQuiet) sayWritten(folder, process.cwd(), "profile");
    await onWritten?.(folder);
    if (!isLearned) return NOT_WRITTEN;
    return mistake === undefined ? 0 : 2;
  }
}

const AGENT_FILE = "browser-agent.br";

/** The scripts of the agents. The file lies beside what is built, and the sources find it there. */
function readScripts(): AgentScripts {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    for (const place of [join(folder, AGENT_FILE), join(folder, "dist", AGENT_FILE)])
      if (existsSync(place))
        return JSON.parse(brotliDecompressSync(readFileSync(place)).toString()) as AgentScripts;
    if (folder === dirname(folder)) throw new UserError(`${AGENT_FILE} is not part of this installation`);
  }
}
