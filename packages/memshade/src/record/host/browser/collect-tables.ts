import type { BrowserSession } from "./browser-session.ts";
import type { CdpPipe } from "./cdp-pipe.ts";
import type { Context, Session } from "./contexts.ts";
import type { Images } from "./images.ts";

/** A context that does not answer for so long is busy. */
const BUSY_MS = 2000;
/** One that sends a memory takes no longer for it. */
const SENDING_MS = 30_000;
/** A context that was made to stop has so much time to send what it has. */
const STOPPED_MS = 10_000;

/** How tables are read. */
export interface Collecting {
  /** What is busy is made to stop. */
  isEnd: boolean;
  /** What was recorded is forgotten then. */
  resets: boolean;
}

interface CollectorParts {
  cdp: CdpPipe;
  images: Images;
  browser(): BrowserSession;
  /** Says a sentence that the profile has too. */
  note(sentence: string, isMissing?: boolean): void;
}

/** Has contexts send their tables, busy ones too. */
export class TableCollector {
  readonly #parts: CollectorParts;
  /** What to do with sessions that stand still, once they do. */
  readonly #onPaused = new Map<Session, () => Promise<unknown>>();

  constructor(parts: CollectorParts) {
    this.#parts = parts;
  }

  /** Lets a busy session stand still for a while. */
  pause(session: Session, act: () => Promise<unknown>): void {
    const { cdp } = this.#parts;
    this.#onPaused.set(session, act);
    cdp.tell("Debugger.enable", {}, session.id);
    cdp.tell("Debugger.pause", {}, session.id);
  }

  paused(session: Session): void {
    const { cdp } = this.#parts;
    const act = this.#onPaused.get(session);
    this.#onPaused.delete(session);
    void Promise.resolve(act?.()).finally(() => {
      cdp.tell("Debugger.resume", {}, session.id);
      // Code runs at less than half its speed where the debugger is on.
      cdp.tell("Debugger.disable", {}, session.id);
    });
  }

  /** Waits for what sessions have told already, as the first instance of one: an answer comes behind it. */
  async catchUp(sessions: readonly Session[]): Promise<void> {
    const { cdp } = this.#parts;
    const answers = sessions.map(({ id }) =>
      cdp.call("Runtime.evaluate", { expression: "0", silent: true }, id).catch(() => {}),
    );
    await within(Promise.all(answers), BUSY_MS);
  }

  /** Reads the tables of contexts. */
  async collect(contexts: readonly Context[], how: Collecting): Promise<void> {
    const { images } = this.#parts;
    const asked = contexts.filter((context) => context.agent !== undefined && images.has(context.number));
    const alone = asked.filter(({ number }) => !images.hasGroups(number));
    const read: string[] = [];
    const inGroups = async (): Promise<void> => {
      // Who came first, as a rule the one that started the others, may have the tables of all.
      for (const context of asked)
        if (images.hasGroups(context.number) && images.has(context.number, read))
          read.push(...(await this.#collectOne(context, how, read)));
    };
    await Promise.all([inGroups(), ...alone.map((context) => this.#collectOne(context, how))]);
  }

  /** @returns the groups that were read */
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
      cdp.tell("Runtime.terminateExecution", {}, context.session.id);
      if (await this.#isAnswered(context, collecting, STOPPED_MS)) return groups;
    } else if (context.session.isWorker) {
      this.pause(context.session, () => collecting);
      if (await this.#isAnswered(context, collecting, STOPPED_MS)) return groups;
    }
    if (this.#parts.browser().contexts.includes(context))
      note(`${describe(context)} is busy: its figures are those of before, if there are any`, true);
    return groups;
  }

  /** Has the engine collect all garbage of a context, if it has objects that are followed. @returns whether it has done so */
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
    if (!(await within(answer, BUSY_MS)) && isEnd) {
      // It comes to it between two tasks.
      cdp.tell("Runtime.terminateExecution", {}, session.id);
      await within(answer, STOPPED_MS);
    }
    return isCollected;
  }

  /** Waits for a context, and longer when it has begun to send. @returns whether it has answered */
  async #isAnswered(context: Context, answer: Promise<unknown>, ms: number): Promise<boolean> {
    for (let [seen, wait] = [context.begun, ms]; ; seen = context.begun, wait = SENDING_MS) {
      if (await within(answer, wait)) return true;
      if (context.begun === seen) return false;
    }
  }
}

/** A context as people know it. */
export function describe({ url, session: { isWorker } }: Context): string {
  const address =
    url === undefined || url === "" ? "" : ` ${url.length > 100 ? `${url.slice(0, 100)}…` : url}`;
  return `${isWorker ? "the worker" : "the page"}${address}`;
}

/** @returns whether it came in time */
async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
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
