import { fileURLToPath } from "node:url";
import type { ToolOptions } from "../../tools/run-options.ts";
import type { RewrittenModule } from "../instance/instantiation-observer.ts";
import { describePreambleProblem } from "../module/module-file.ts";
import { ModuleWeaver, moduleKey } from "../module/module-weaver.ts";
import { nativeSha256Hex } from "../module/native-sha256.ts";
import { OptionFit } from "../node/option-fit.ts";
import { describeThrown } from "../run/run-end.ts";
import { threadMs } from "../run/thread-time.ts";
import type { AgentMessage, AnswerHead } from "./messages.ts";
import type { PageModule } from "./page-symbols.ts";

/** What a context asks for, with the bytes of its module. */
export type ModuleRequest = Omit<AgentMessage & { kind: "rewrite" }, "kind" | "id" | "way" | "place">;

/** Where a context is of use for its modules. */
export interface ModuleAsker {
  /** The text of a script, empty where there is none. */
  textOf(url: string): Promise<string>;
  /** A module was rewritten that nobody had before. */
  onNew(module: PageModule): void;
}

/** So much source text is searched for names, and no more. */
const GLUE_LIMIT_BYTES = 8 << 20;

/** The empty answer: the module is left alone. */
const NONE = new Uint8Array(0);

/** Rewrites the modules of pages. One that was rewritten for one context is known to all. */
export class ModuleService {
  readonly #weaver: ModuleWeaver;
  readonly #giveUp: (sentence: string) => void;
  /** Answers by what they are made of. */
  readonly #cache = new Map<string, Uint8Array>();
  /** Answers that are being made. */
  readonly #pending = new Map<string, Promise<Uint8Array>>();
  readonly #originals = new Map<string, Uint8Array>();
  readonly #givenUp = new Set<string>();
  readonly allocatorOption = new OptionFit();
  rewritingMs = 0;

  /** @param giveUp is told of modules that run without being profiled */
  constructor(tools: ToolOptions, giveUp: (sentence: string) => void) {
    this.#weaver = new ModuleWeaver(tools, (mismatch) => this.allocatorOption.take(mismatch));
    this.#giveUp = giveUp;
  }

  /** The bytes of a module before it was rewritten, by `moduleKey`. */
  readonly original = (key: string): Uint8Array | undefined => this.#originals.get(key);

  /** What a context is answered. */
  async answer(bytes: Uint8Array, request: ModuleRequest, asker: ModuleAsker): Promise<Uint8Array> {
    if (describePreambleProblem(bytes) !== undefined) return NONE;
    const { beside, reason } = request;
    const key = nativeSha256Hex(bytes);
    const alone = JSON.stringify([key, reason]);
    const withTables = JSON.stringify([key, reason, beside]);
    const known = this.#cache.get(alone) ?? this.#cache.get(withTables) ?? this.#pending.get(withTables);
    if (known !== undefined) return known;
    const making = (async () => {
      const glue = await glueOf(request.caller, asker.textOf);
      const start = threadMs();
      const module = this.#rewrite(bytes, key, glue, request, asker);
      this.rewritingMs += threadMs() - start;
      const answer = module === undefined ? NONE : answerOf(module);
      // Only libraries depend on what is beside them.
      this.#cache.set(module?.tracked.info.beside === undefined ? alone : withTables, answer);
      this.#pending.delete(withTables);
      return answer;
    })();
    this.#pending.set(withTables, making);
    return making;
  }

  #rewrite(
    bytes: Uint8Array,
    key: string,
    glue: string,
    { address, caller, beside, reason }: ModuleRequest,
    asker: ModuleAsker,
  ): RewrittenModule | undefined {
    let name: string | undefined;
    try {
      const path = pathOf(address);
      name = this.#weaver.nameOf(bytes, { path, address, scripts: caller.map(withoutQuery) });
      const script = path === null ? caller[0] : undefined;
      const module = this.#weaver.first(bytes, name, { key, path, script, glue, beside, reason });
      const known = moduleKey(module.tracked.info);
      if (!this.#originals.has(known)) {
        this.#originals.set(known, bytes);
        asker.onNew({ original: bytes, name, base: address ?? caller[0] });
      }
      return module;
    } catch (error) {
      this.reject(key, name, describeThrown(error));
      return undefined;
    }
  }

  /** A module runs without being profiled. */
  reject(key: string, name: string | undefined, reason: string): void {
    if (this.#givenUp.has(key)) return;
    this.#givenUp.add(key);
    this.#giveUp(`${name ?? "a module"} runs without being profiled: ${reason}`);
  }
}

function pathOf(address: string | undefined): string | null {
  if (address?.startsWith("file:") !== true) return null;
  try {
    return fileURLToPath(withoutQuery(address));
  } catch {
    return null;
  }
}

function withoutQuery(address: string): string {
  return address.replace(/[?#].*$/s, "");
}

async function glueOf(scripts: readonly string[], textOf: (url: string) => Promise<string>): Promise<string> {
  const texts = await Promise.all(scripts.map(textOf));
  return texts.filter((text) => text.length <= GLUE_LIMIT_BYTES && /wasm|WebAssembly/.test(text)).join("\n");
}

function answerOf({ bytes, tracked: { info, key, path } }: RewrittenModule): Uint8Array {
  const head = new TextEncoder().encode(JSON.stringify({ info, key, path } satisfies AnswerHead));
  const answer = new Uint8Array(4 + head.length + bytes.length);
  new DataView(answer.buffer).setUint32(0, head.length, true);
  answer.set(head, 4);
  answer.set(bytes, 4 + head.length);
  return answer;
}
