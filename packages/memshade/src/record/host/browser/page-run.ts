import { entryOf } from "../../../ground/bytes/entries.ts";
import { counted } from "../../../profile/model/counted.ts";
import type { Recorder } from "../run/recorder.ts";
import { describeThrown } from "../run/run-end.ts";
import {
  type BrowserEvents,
  type BrowserSession,
  type Context,
  isBelow,
  type Session,
} from "./browser-session.ts";
import type { CdpPipe } from "./cdp-pipe.ts";
import { type AgentMessage, PIECE_BYTES } from "./messages.ts";
import type { Images, LoadedFrom, ModuleService, PageSymbols, PageTexts } from "./module-service.ts";

/** Time after which an answer is not expected to be requested any more. */
const REQUESTED_WITHIN_MS = 10_000;

export interface PageRunParts {
  cdp: CdpPipe;
  recorder: Recorder;
  images: Images;
  modules: ModuleService;
  texts: PageTexts;
  symbols: PageSymbols;
  /** Prints a sentence and adds it to the profile. */
  note(sentence: string, isMissing?: boolean): void;
  onEmpty(): void;
}

/** Answer that may be requested before or after it is ready. */
interface Answer {
  bytes: Promise<Uint8Array>;
  give(bytes: Promise<Uint8Array>): void;
}

/** Handles a run's events in the browser: answers requests for modules, and turns tables into images. */
export class PageRun implements BrowserEvents {
  readonly #parts: PageRunParts;
  browser!: BrowserSession;
  /** Bytes of modules that are arriving, by context and number. */
  readonly #parcels = new Map<string, Buffer[]>();
  /** Answers by the path of their request, and by context and number. */
  readonly #places = new Map<string, Answer>();
  readonly #answers = new Map<string, Promise<Uint8Array>>();
  /** Contexts of workers, by the names that their creators gave them. */
  readonly #workers = new Map<string, Context>();
  readonly #collector: TableCollector;

  constructor(parts: PageRunParts) {
    this.#parts = parts;
    const { cdp, images, note } = parts;
    this.#collector = new TableCollector({ cdp, images, note, browser: () => this.browser });
  }

  message(context: Context, message: AgentMessage, contents: Buffer): void {
    const { images, recorder, modules, note, texts } = this.#parts;
    const { number } = context;
    switch (message.kind) {
      case "hello":
        context.url = message.url ?? context.session.url;
        return;
      case "part":
        this.#parcel(context, message.id).push(contents);
        return;
      case "rewrite":
        this.#rewrite(context, message);
        return;
      case "push":
        void this.#push(context, message.id);
        return;
      case "interrupt":
        this.#interrupt(context, message.id);
        return;
      case "rejected":
        modules.reject(message.key, message.name, message.reason);
        return;
      case "instance":
        try {
          images.add(number, message);
          this.browser.extend(context);
        } catch (error) {
          note(`an instance of ${message.info.name} is not recorded: ${describeThrown(error)}`, true);
        }
        return;
      case "begin":
        context.begun++;
        images.begin(number, message);
        return;
      case "data":
        images.write(number, message, contents);
        return;
      case "done":
        images.finish(number, message);
        return;
      case "flush":
        images.flush(number, message);
        return;
      case "reach":
        images.setReach(number, message);
        return;
      case "released":
        images.release(number, message);
        return;
      case "named":
        this.#workers.set(message.worker, context);
        return;
      case "ending":
        void this.#endWorker(context, message.worker);
        return;
      case "stacks":
        recorder.learnStacks(number, message.news);
        // The page may be gone later.
        for (const { file } of message.news.frames)
          if (file !== undefined) texts.load(file, loadedFrom(context.session));
        return;
      case "note":
        note(message.sentence);
        return;
    }
  }

  #parcel(context: Context, id: number): Buffer[] {
    const key = `${context.number}:${id}`;
    const pieces = entryOf(this.#parcels, key, () => []);
    return pieces;
  }

  #rewrite(context: Context, message: AgentMessage & { kind: "rewrite" }): void {
    const { id, way, place } = message;
    const key = `${context.number}:${id}`;
    const bytes = Buffer.concat(this.#parcel(context, id));
    this.#parcels.delete(key);
    const from = loadedFrom(context.session);
    const answer = this.#parts.modules.answer(
      new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length),
      message,
      {
        textOf: (url) => this.#parts.texts.textOf(url, from),
        onNew: (module) => this.#parts.symbols.load(module, from),
      },
    );
    this.#answers.set(key, answer);
    if (way === "push") void this.#push(context, id);
    else if (place !== undefined) this.#answerAt(place).give(answer);
  }

  #answerAt(place: string): Answer {
    const existing = this.#places.get(place);
    if (existing !== undefined) return existing;
    let give!: Answer["give"];
    const bytes = new Promise<Uint8Array>((done) => {
      give = done;
    });
    const answer = { bytes, give };
    this.#places.set(place, answer);
    setTimeout(() => this.#places.delete(place), REQUESTED_WITHIN_MS).unref();
    return answer;
  }

  requested(place: string, session: Session, requestId: string): void {
    const { cdp } = this.#parts;
    void this.#answerAt(place).bytes.then((bytes) => {
      this.#places.delete(place);
      cdp.sendCommand(
        "Fetch.fulfillRequest",
        {
          requestId,
          responseCode: 200,
          responseHeaders: Object.entries({
            "Content-Type": "application/octet-stream",
            "Cache-Control": "no-store",
            "Access-Control-Allow-Origin": "*",
            "Cross-Origin-Resource-Policy": "cross-origin",
          }).map(([name, value]) => ({ name, value })),
          body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64"),
        },
        session.id,
      );
    });
  }

  async #push(context: Context, id: number): Promise<void> {
    const key = `${context.number}:${id}`;
    const bytes = await this.#answers.get(key);
    this.#answers.delete(key);
    if (bytes === undefined) return;
    const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    const calls: Promise<unknown>[] = [];
    do {
      const piece = whole.subarray(at, at + PIECE_BYTES);
      at += PIECE_BYTES;
      calls.push(this.browser.call(context, "answer", id, piece.toString("base64"), at >= whole.length));
    } while (at < whole.length);
    await Promise.allSettled(calls);
  }

  /** Answers an agent that waits in a loop. Its session is paused meanwhile. */
  #interrupt(context: Context, id: number): void {
    const answer = this.#answers.get(`${context.number}:${id}`);
    void Promise.resolve(answer).then(() =>
      this.#collector.pause(context.session, () => this.#push(context, id)),
    );
  }

  paused(session: Session): void {
    this.#collector.paused(session);
  }

  /** Reads the tables of a worker that its creator terminates. */
  async #endWorker(maker: Context, name: string): Promise<void> {
    const worker = this.#workers.get(name);
    if (worker !== undefined) await this.#collector.collect([worker], { isEnd: true, resets: false });
    await this.browser.call(maker, "ended", name).catch(() => {});
  }

  replacing(session: Session, requestId: string): void {
    // The page has sent its own tables already, and accepts no message now.
    const below = this.browser.contexts.filter(
      (context) => context.session !== session && isBelow(context.session, session),
    );
    void this.#collector
      .collect(below, { isEnd: false, resets: false })
      .finally(() => this.#parts.cdp.sendCommand("Fetch.continueRequest", { requestId }, session.id));
  }

  gone(context: Context, isCrash: boolean): void {
    const reason = isCrash ? "crashed" : "ended before its tables were read";
    for (const { name, isRead, isComing } of this.#parts.images.releaseAll(context.number))
      if (!isRead) this.#parts.note(`an instance of ${name} is lost: ${describe(context)} ${reason}`, true);
      else if (isComing || isCrash)
        this.#parts.note(
          `an instance of ${name} has the figures of before: ${describe(context)} ${isCrash ? reason : "ended while its tables were read"}`,
          true,
        );
  }

  empty(): void {
    this.#parts.onEmpty();
  }

  giveUp(): void {
    for (const [name, count] of countsOf(this.#parts.images.unread))
      this.#parts.note(
        `${counted(count, "instance")} of ${name} lost: the run was ended before the tables were read`,
        true,
      );
  }

  /**
   * Reads the tables of all instances. `isEnd`: busy contexts are stopped; `resets`: the recording starts anew
   * afterwards.
   */
  async collect(isEnd: boolean, resets = false): Promise<void> {
    const { images } = this.#parts;
    const sessionsWithInstances = new Set(
      this.browser.contexts.filter(({ number }) => images.has(number)).map(({ session }) => session),
    );
    await this.#collector.catchUp(
      this.browser.sessions.filter((session) => !sessionsWithInstances.has(session)),
    );
    await this.#collector.collect(this.browser.contexts, { isEnd, resets });
  }
}

function countsOf(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

function loadedFrom(session: Session): LoadedFrom {
  return { session: session.id, frame: session.isWorker ? undefined : session.target };
}

/** Time without an answer after which a context counts as busy. */
const BUSY_MS = 2000;
/** Limit for sending one memory. */
const SENDING_MS = 30_000;
/** Time for a stopped context to send its tables. */
const STOPPED_MS = 10_000;

interface Collecting {
  isEnd: boolean;
  /** True if the recording starts anew afterwards. */
  resets: boolean;
}

interface CollectorParts {
  cdp: CdpPipe;
  images: Images;
  browser(): BrowserSession;
  note(sentence: string, isMissing?: boolean): void;
}

/** Makes contexts send their tables, also busy ones. */
class TableCollector {
  readonly #parts: CollectorParts;
  readonly #onPaused = new Map<Session, () => Promise<unknown>>();

  constructor(parts: CollectorParts) {
    this.#parts = parts;
  }

  pause(session: Session, act: () => Promise<unknown>): void {
    const { cdp } = this.#parts;
    this.#onPaused.set(session, act);
    cdp.sendCommand("Debugger.enable", {}, session.id);
    cdp.sendCommand("Debugger.pause", {}, session.id);
  }

  paused(session: Session): void {
    const { cdp } = this.#parts;
    const act = this.#onPaused.get(session);
    this.#onPaused.delete(session);
    void Promise.resolve(act?.()).finally(() => {
      cdp.sendCommand("Debugger.resume", {}, session.id);
      // Code runs at less than half its speed while the debugger is on.
      cdp.sendCommand("Debugger.disable", {}, session.id);
    });
  }

  /**
   * Waits until earlier messages of sessions have arrived, such as their first instance: an answer comes after them.
   */
  async catchUp(sessions: readonly Session[]): Promise<void> {
    const { cdp } = this.#parts;
    const answers = sessions.map(({ id }) =>
      cdp.call("Runtime.evaluate", { expression: "0", silent: true }, id).catch(() => {}),
    );
    await resolvesWithin(Promise.all(answers), BUSY_MS);
  }

  async collect(contexts: readonly Context[], options: Collecting): Promise<void> {
    const { images } = this.#parts;
    const reachable = contexts.filter((context) => context.agent !== undefined && images.has(context.number));
    const alone = reachable.filter(({ number }) => !images.hasGroups(number));
    const read: string[] = [];
    const inGroups = async (): Promise<void> => {
      // The first context, usually the one that started the others, may have the tables of all.
      for (const context of reachable)
        if (images.hasGroups(context.number) && images.has(context.number, read))
          read.push(...(await this.#collectOne(context, options, read)));
    };
    await Promise.all([inGroups(), ...alone.map((context) => this.#collectOne(context, options))]);
  }

  async #collectOne(
    context: Context,
    { isEnd, resets }: Collecting,
    read: readonly string[] = [],
  ): Promise<string[]> {
    const { cdp, note } = this.#parts;
    let groups: string[] = [];
    const isCollected = await this.#collectGarbage(context, isEnd);
    const collecting = this.#parts
      .browser()
      .call(context, "collect", read, resets, isCollected)
      .then(
        (sent) => {
          groups = sent as string[];
        },
        () => {},
      );
    if (await this.#isAnswered(context, collecting, BUSY_MS)) return groups;
    if (isEnd) {
      cdp.sendCommand("Runtime.terminateExecution", {}, context.session.id);
      if (await this.#isAnswered(context, collecting, STOPPED_MS)) return groups;
    } else if (context.session.isWorker) {
      this.pause(context.session, () => collecting);
      if (await this.#isAnswered(context, collecting, STOPPED_MS)) return groups;
    }
    if (this.#parts.browser().contexts.includes(context))
      note(`${describe(context)} is busy: its figures are those of before, if there are any`, true);
    return groups;
  }

  /** Collects all garbage of a context, if it has objects that are recorded. @returns whether that was done */
  async #collectGarbage({ number, session }: Context, isEnd: boolean): Promise<boolean> {
    const { cdp, images } = this.#parts;
    if (!images.hasTool(number, "objects")) return false;
    let isCollected = false;
    const answer = cdp.call("HeapProfiler.collectGarbage", {}, session.id).then(
      () => {
        isCollected = true;
      },
      () => {},
    );
    if (!(await resolvesWithin(answer, BUSY_MS)) && isEnd) {
      // The engine collects garbage between two tasks.
      cdp.sendCommand("Runtime.terminateExecution", {}, session.id);
      await resolvesWithin(answer, STOPPED_MS);
    }
    return isCollected;
  }

  /** Waits for a context's answer, longer if it has begun to send. @returns whether it has answered */
  async #isAnswered(context: Context, answer: Promise<unknown>, ms: number): Promise<boolean> {
    for (let [seen, wait] = [context.begun, ms]; ; seen = context.begun, wait = SENDING_MS) {
      if (await resolvesWithin(answer, wait)) return true;
      if (context.begun === seen) return false;
    }
  }
}

function describe({ url, session: { isWorker } }: Context): string {
  const address =
    url === undefined || url === "" ? "" : ` ${url.length > 100 ? `${url.slice(0, 100)}…` : url}`;
  return `${isWorker ? "the worker" : "the page"}${address}`;
}

/** @returns whether the promise resolved in time */
async function resolvesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((done) => {
    timer = setTimeout(done, ms, false);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
