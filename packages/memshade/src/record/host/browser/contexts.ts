/** A connection to a page, frame, worker or worklet. */
export interface Session {
  id: string;
  type: string;
  target: string;
  url: string;
  /** That of the page, frame or worker which has started it. */
  parent: Session | undefined;
  isWorker: boolean;
  /** Resolves when the agent's commands have been answered. */
  injected: Promise<unknown>;
}

/** A page, frame, worker or worklet with an agent in it. */
export interface Context {
  /** Numbers the contexts of a run, from 1 on. */
  number: number;
  session: Session;
  /** What its session calls it. */
  executionContext: number;
  /** What the protocol calls the agent. */
  agent: string | undefined;
  url: string | undefined;
  /** How many times it has begun to send a memory. */
  begun: number;
  isExtended: boolean;
}

/** Whether a session is that of a page, or of what the page has started. */
export function isBelow(session: Session, page: Session): boolean {
  for (let at: Session | undefined = session; at !== undefined; at = at.parent) if (at === page) return true;
  return false;
}
