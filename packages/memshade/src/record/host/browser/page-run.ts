import { counted } from "../../../profile/model/counted.ts";
import type { Recorder } from "../run/recorder.ts";
import { describeThrown } from "../run/run-end.ts";
import type { BrowserEvents, BrowserSession } from "./browser-session.ts";
import type { CdpPipe } from "./cdp-pipe.ts";
import { describe, TableCollector } from "./collect-tables.ts";
import { type Context, isBelow, type Session } from "./contexts.ts";
import type { Images } from "./images.ts";
import { type AgentMessage, PIECE_BYTES } from "./messages.ts";
import type { ModuleService } from "./module-service.ts";
import type { PageSymbols } from "./page-symbols.ts";
import type { LoadedFrom, PageTexts } from "./page-texts.ts";

/** An answer that nobody has asked for by then will not be asked for. */
const REQUESTED_WITHIN_MS = 10_000;

export interface PageRunParts {
  cdp: CdpPipe;
  recorder: Recorder;
  images: Images;
  modules: ModuleService;
  texts: PageTexts;
  symbols: PageSymbols;
  /** Says a sentence that the profile has too. */
  note(sentence: string, isMissing?: boolean): void;
  /** The last page was closed. */
  onEmpty(): void;
}

/** An answer that is waited for, whichever side comes first. */
interface Answer {
  bytes: Promise<Uint8Array>;
  give(bytes: Promise<Uint8Array>): void;
}

/** What a run does with what happens in the browser: modules are answered, tables become images. */
export class PageRun implements BrowserEvents {
  readonly #parts: PageRunParts;
  browser!: BrowserSession;
  /** Bytes of modules that are coming, by context and number. */
  readonly #parcels = new Map<string, Buffer[]>();
  /** Answers by the place that they are asked for at, and by context and number. */
  readonly #places = new Map<string, Answer>();
  readonly #answers = new Map<string, Promise<Uint8Array>>();
  /** Contexts of workers, by the names that those who have made them gave them. */
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
        // Later the page may be gone.
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
    const known = this.#parcels.get(key) ?? [];
    this.#parcels.set(key, known);
    return known;
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
    const known = this.#places.get(place);
    if (known !== undefined) return known;
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
      cdp.tell(
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

  /** Sends an answer in pieces. */
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

  /** Answers an agent that waits in a loop: its session stands still meanwhile. */
  #interrupt(context: Context, id: number): void {
    const answer = this.#answers.get(`${context.number}:${id}`);
    void Promise.resolve(answer).then(() =>
      this.#collector.pause(context.session, () => this.#push(context, id)),
    );
  }

  paused(session: Session): void {
    this.#collector.paused(session);
  }

  /** Reads the tables of a worker that its maker ends. */
  async #endWorker(maker: Context, name: string): Promise<void> {
    const worker = this.#workers.get(name);
    if (worker !== undefined) await this.#collector.collect([worker], { isEnd: true, resets: false });
    await this.browser.call(maker, "ended", name).catch(() => {});
  }

  replacing(session: Session, requestId: string): void {
    // The page itself has sent what it has, and takes no message now.
    const below = this.browser.contexts.filter(
      (context) => context.session !== session && isBelow(context.session, session),
    );
    void this.#collector
      .collect(below, { isEnd: false, resets: false })
      .finally(() => this.#parts.cdp.tell("Fetch.continueRequest", { requestId }, session.id));
  }

  gone(context: Context, isCrash: boolean): void {
    const how = isCrash ? "crashed" : "ended before its tables were read";
    for (const { name, isRead, isComing } of this.#parts.images.releaseAll(context.number))
      if (!isRead) this.#parts.note(`an instance of ${name} is lost: ${describe(context)} ${how}`, true);
      else if (isComing || isCrash)
        this.#parts.note(
          `an instance of ${name} has the figures of before: ${describe(context)} ${isCrash ? how : "ended while its tables were read"}`,
          true,
        );
  }

  empty(): void {
    this.#parts.onEmpty();
  }

  /** Nobody waits for tables any more: says which instances nothing is known of. */
  giveUp(): void {
    for (const [name, count] of countsOf(this.#parts.images.unread))
      this.#parts.note(
        `${counted(count, "instance")} of ${name} lost: the run was ended before the tables were read`,
        true,
      );
  }

  /** Reads the tables of all instances. `isEnd`: what is busy is made to stop; `resets`: what was recorded is forgotten then. */
  async collect(isEnd: boolean, resets = false): Promise<void> {
    const { images } = this.#parts;
    const known = new Set(
      this.browser.contexts.filter(({ number }) => images.has(number)).map(({ session }) => session),
    );
    await this.#collector.catchUp(this.browser.sessions.filter((session) => !known.has(session)));
    await this.#collector.collect(this.browser.contexts, { isEnd, resets });
  }
}

/** How often each text is there. */
function countsOf(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

function loadedFrom(session: Session): LoadedFrom {
  return { session: session.id, frame: session.isWorker ? undefined : session.target };
}
