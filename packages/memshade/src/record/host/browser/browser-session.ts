import { attempt } from "../../../ground/bytes/dispensable.ts";
import type { CdpEvent, CdpPipe, CdpValues } from "./cdp-pipe.ts";
import { AGENT_SCRIPT, type AgentMessage, type AgentSettings } from "./messages.ts";

/** Built scripts: one for each context, and one that is added once there are instances. */
export interface AgentScripts {
  agent: string;
  reader: string;
}

export interface SessionSettings extends Omit<AgentSettings, "isWorker"> {
  /** True if the pages' content security policies are disabled. */
  bypassesPolicies: boolean;
}

export interface BrowserEvents {
  message(context: Context, message: AgentMessage, contents: Buffer): void;
  gone(context: Context, isCrash: boolean): void;
  /** Called when an agent requests an answer over an address. `place` is the part after the token. */
  requested(place: string, session: Session, request: string): void;
  /** Called when a document is about to be replaced. `continueRequest` must follow. */
  replacing(session: Session, request: string): void;
  paused(session: Session): void;
  empty(): void;
}

const AUTO_ATTACH = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };
const WINDOWS = ["page", "iframe"];

/** Contexts of a browser. Each gets an agent before its first statement. Independent of files and recordings. */
export class BrowserSession {
  readonly #cdp: CdpPipe;
  readonly #events: BrowserEvents;
  readonly #settings: SessionSettings;
  readonly #scripts: AgentScripts;
  readonly #sessions = new Map<string, Session>();
  readonly #contexts = new Map<string, Context>();
  readonly #onFirstPage: ((session: Session) => void)[] = [];
  /** Parents of targets that were attached by `attach`. */
  readonly #parents = new Map<string, string | undefined>();
  /** True if this session finds new targets itself. */
  #finds = false;
  #numbers = 0;

  constructor(cdp: CdpPipe, events: BrowserEvents, settings: SessionSettings, scripts: AgentScripts) {
    this.#cdp = cdp;
    this.#events = events;
    this.#settings = settings;
    this.#scripts = scripts;
  }

  get contexts(): readonly Context[] {
    return [...this.#contexts.values()];
  }

  get sessions(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  get pages(): readonly Session[] {
    return this.sessions.filter(({ type }) => type === "page");
  }

  /**
   * Attaches to a target that the caller has found, and injects the agent. Resolves once that is done.
   * @param parent the target that has started it
   */
  async attach(target: string, parent: string | undefined): Promise<void> {
    this.#parents.set(target, parent);
    await this.#cdp.call("Target.attachToTarget", { targetId: target, flatten: true });
    await this.#sessionOf(target)?.injected;
  }

  #sessionOf(target: string | undefined): Session | undefined {
    return this.sessions.find((session) => session.target === target);
  }

  hasTarget(target: string): boolean {
    return this.#sessionOf(target) !== undefined;
  }

  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** Begins to attach to all targets, and waits for the first page. */
  async start(): Promise<Session> {
    this.#finds = true;
    const first = new Promise<Session>((done) => this.#onFirstPage.push(done));
    await this.#cdp.call("Target.setAutoAttach", AUTO_ATTACH);
    return first;
  }

  readonly take = ({ method, params, sessionId }: CdpEvent): void => {
    if (method === "Target.attachedToTarget") {
      this.#attached(params, sessionId);
      return;
    }
    if (method === "Target.detachedFromTarget") {
      this.#detached(params.sessionId);
      return;
    }
    const session = this.#sessions.get(sessionId ?? "");
    if (session === undefined) return;
    switch (method) {
      case "Runtime.bindingCalled":
        if (params.name === this.#settings.token) this.#message(session, params);
        return;
      case "Runtime.consoleAPICalled":
        if (params.args.length === 2 && params.args[0].value === this.#settings.token)
          this.#contextOf(session, params.executionContextId).agent = params.args[1].objectId;
        return;
      case "Runtime.executionContextDestroyed":
        this.#gone(session, params.executionContextId);
        return;
      case "Runtime.executionContextsCleared":
        this.#gone(session);
        return;
      case "Fetch.requestPaused":
        this.#requestPaused(session, params);
        return;
      case "Inspector.targetCrashed":
        this.#crashed(session);
        return;
      case "Debugger.paused":
        this.#events.paused(session);
        return;
    }
  };

  extend(context: Context): void {
    if (context.isExtended) return;
    context.isExtended = true;
    this.#cdp.sendCommand(
      "Runtime.callFunctionOn",
      {
        objectId: context.agent,
        functionDeclaration: `function(){${this.#scripts.reader}\nthis.extend(memshadeReader.reader)}`,
        silent: true,
      },
      context.session.id,
    );
  }

  /** Calls a function of an agent. @throws CdpError if the context is gone */
  async call(context: Context, name: string, ...args: unknown[]): Promise<unknown> {
    const { result, exceptionDetails } = await this.#cdp.call(
      "Runtime.callFunctionOn",
      {
        objectId: context.agent,
        functionDeclaration: `function(a,b,c){return this.${name}(a,b,c)}`,
        arguments: args.map((value) => ({ value })),
        returnByValue: true,
        silent: true,
      },
      context.session.id,
    );
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description);
    return result?.value;
  }

  #attached(
    { sessionId: id, targetInfo, waitingForDebugger }: CdpValues,
    parentId: string | undefined,
  ): void {
    const { targetId: target, type, url } = targetInfo;
    const isWorker = /work(er|let)$/.test(type);
    const isKnown = this.#sessionOf(target) !== undefined;
    const calls: Promise<unknown>[] = [];
    const send = (method: string, params: CdpValues = {}): void => {
      calls.push(this.#cdp.call(method, params, id).catch(() => {}));
    };
    if (isKnown || !(isWorker || WINDOWS.includes(type))) {
      if (waitingForDebugger) send("Runtime.runIfWaitingForDebugger");
      // A service worker is announced once per page and once by the browser.
      if (isKnown) this.#cdp.sendCommand("Target.detachFromTarget", { sessionId: id });
      return;
    }
    const parent = this.#sessions.get(parentId ?? "") ?? this.#sessionOf(this.#parents.get(target));
    const session: Session = { id, type, target, url, parent, isWorker, injected: Promise.resolve() };
    this.#sessions.set(id, session);
    if (this.#finds) send("Target.setAutoAttach", AUTO_ATTACH);
    if (!isWorker || this.#isWanted(session)) this.#inject(session, send);
    session.injected = Promise.all(calls);
    if (waitingForDebugger) send("Runtime.runIfWaitingForDebugger");
    if (type === "page") this.#onFirstPage.shift()?.(session);
  }

  #inject({ isWorker }: Session, send: (method: string, params?: CdpValues) => void): void {
    const { token, origins, bypassesPolicies } = this.#settings;
    const settings: AgentSettings = { token, origins, isWorker };
    const source = `{const memshadeSettings=${JSON.stringify(settings)};${this.#scripts.agent}}\n//# sourceURL=${AGENT_SCRIPT}`;
    send("Runtime.enable");
    send("Runtime.addBinding", { name: token });
    if (isWorker) send("Runtime.evaluate", { expression: source, silent: true });
    else {
      send("Page.enable");
      if (bypassesPolicies) send("Page.setBypassCSP", { enabled: true });
      send("Inspector.enable");
      send("Page.addScriptToEvaluateOnNewDocument", { source, runImmediately: true });
    }
    send("Fetch.enable", {
      patterns: [
        { urlPattern: `*/.memshade-${token}/*` },
        ...(isWorker ? [] : [{ urlPattern: "*", resourceType: "Document" }]),
      ],
    });
  }

  /** True if a worker is profiled: a page's worker is, if the page is. */
  #isWanted({ parent, url }: Session): boolean {
    const { origins } = this.#settings;
    if (origins === undefined) return true;
    if (parent !== undefined) {
      let page = parent;
      while (page.parent !== undefined) page = page.parent;
      return (
        this.contexts.some(({ session }) => isBelow(session, page)) || (page.isWorker && this.#isWanted(page))
      );
    }
    return attempt(() => origins.includes(new URL(url).origin), false);
  }

  #contextOf(session: Session, executionContext: number): Context {
    const key = `${session.id} ${executionContext}`;
    const existing = this.#contexts.get(key);
    if (existing !== undefined) return existing;
    const context: Context = {
      number: ++this.#numbers,
      session,
      executionContext,
      agent: undefined,
      url: undefined,
      begun: 0,
      isExtended: false,
    };
    this.#contexts.set(key, context);
    return context;
  }

  #message(session: Session, { payload, executionContextId }: CdpValues): void {
    const context = this.#contextOf(session, executionContextId);
    const [kindEnd, headEnd] = [payload.indexOf(" "), payload.indexOf("\n")];
    let message: AgentMessage;
    try {
      message = { kind: payload.slice(0, kindEnd), ...JSON.parse(payload.slice(kindEnd + 1, headEnd)) };
    } catch {
      // The message is not from an agent: a page has found the function.
      return;
    }
    const contents = Buffer.from(payload.slice(headEnd + 1), "base64");
    this.#events.message(context, message, contents);
  }

  #requestPaused(session: Session, { requestId, request, resourceType, frameId }: CdpValues): void {
    const ours = `/.memshade-${this.#settings.token}/`;
    const at = request.url.indexOf(ours);
    if (at >= 0) this.#events.requested(request.url.slice(at + ours.length), session, requestId);
    else if (resourceType === "Document" && frameId === session.target)
      this.#events.replacing(session, requestId);
    else this.#cdp.sendCommand("Fetch.continueRequest", { requestId }, session.id);
  }

  #gone(session: Session, executionContext?: number, isCrash = false): void {
    for (const [key, context] of this.#contexts) {
      if (context.session !== session) continue;
      if (executionContext !== undefined && context.executionContext !== executionContext) continue;
      this.#contexts.delete(key);
      this.#events.gone(context, isCrash);
    }
  }

  /** Workers and frames of a page live in the process that crashed. */
  #crashed(page: Session): void {
    for (const session of this.#sessions.values())
      if (isBelow(session, page)) this.#gone(session, undefined, true);
    this.#detached(page.id);
  }

  #detached(id: string): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    this.#gone(session);
    if (session.type === "page" && this.pages.length === 0) this.#events.empty();
  }
}

export interface Session {
  id: string;
  type: string;
  target: string;
  url: string;
  /** Session of the page, frame or worker that started this one. */
  parent: Session | undefined;
  isWorker: boolean;
  /** Resolves when the agent's commands have been answered. */
  injected: Promise<unknown>;
}

/** Page, frame, worker or worklet with an agent. */
export interface Context {
  /** Number of the context in the run, from 1. */
  number: number;
  session: Session;
  /** Id of the context in its session. `agent` is the agent's object id. */
  executionContext: number;
  agent: string | undefined;
  url: string | undefined;
  begun: number;
  isExtended: boolean;
}

/** True if a session belongs to a page, or to a frame or worker that the page has started. */
export function isBelow(session: Session, page: Session): boolean {
  for (let at: Session | undefined = session; at !== undefined; at = at.parent) if (at === page) return true;
  return false;
}
