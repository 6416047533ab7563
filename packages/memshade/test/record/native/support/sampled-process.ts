import { readModules } from "../../../../src/record/native/collect/modules.ts";
import { Header, Tls } from "../../../../src/record/native/layout.ts";
import { FIRST_SIGNAL, SampleText } from "../../../../src/record/native/sampling/layout.ts";
import type { SampledMemory } from "../../../../src/record/native/sampling/sample-reader.ts";
import { FakeProcess, TEXT } from "./fake-process.ts";

export const PERIOD = 10_309_278;
/** Addresses that the image stores as distances of its functions. */
const [HANDLER, BEGIN_THREAD] = [-0x1000, -0x800];
const NOTES = 0x7d80_0000_0000;
const [ENVIRONMENT, INFO, CONTEXT, SET, ACTION, OLD] = [0, 0x100, 0x200, 0x400, 0x500, 0x600].map(
  (at) => NOTES + at,
);
const SI_TIMER = 0xffff_fffe;

/** A process that takes samples; a model of the C library provides signals and their handlers. */
export class SampledProcess extends FakeProcess {
  /** Handlers of signals; 0: the default one. */
  readonly handlers = new Map<number, number>();
  kept = 0n;

  constructor() {
    super();
    this.memory.map(NOTES, new Uint8Array(4096));
    this.period = PERIOD;
    this.memory.write(TEXT + SampleText.handler, new Uint8Array(Int32Array.of(HANDLER).buffer));
    this.memory.write(TEXT + SampleText.beginThread, new Uint8Array(Int32Array.of(BEGIN_THREAD).buffer));
    const sigaction = (signal: number, action: number, old: number): number => {
      const before = this.handlers.get(signal) ?? 0;
      if (action !== 0) this.handlers.set(signal, Number(this.memory.load64(action)));
      if (old !== 0) this.memory.store64(old, BigInt(before));
      return 0;
    };
    const mask = (how: number, set: number): number => {
      if (set !== 0)
        this.kept = how === 1 ? this.kept & ~this.memory.load64(set) : this.kept | this.memory.load64(set);
      return 0;
    };
    this.library = {
      sigaction,
      pthread_sigmask: mask,
      sigprocmask: mask,
      signal: (signal, handler) => {
        const before = this.handlers.get(signal) ?? 0;
        this.handlers.set(signal, handler);
        return before;
      },
      malloc: () => NOTES + 0x800,
      free: () => undefined,
    };
    this.kernel.unblocked = (set) => {
      this.kept &= ~this.memory.load64(set);
    };
  }

  get handler(): number {
    return TEXT + HANDLER;
  }
  get beginThread(): number {
    return TEXT + BEGIN_THREAD;
  }

  /** Period of the samples, ns; 0: none. */
  set period(ns: number) {
    this.memory.store64(TEXT + SampleText.period, BigInt(ns));
  }

  /** Runs the function that the dynamic linker calls first. */
  begin(): void {
    this.hooks.initialize(1, 0n, BigInt(ENVIRONMENT));
  }

  /** Fires the timer of the running thread, after `missed` expirations without effect; or sends the signal. */
  interrupt(
    at: { address: number; stackPointer: number; framePointer: number },
    { missed = 0, isSent = false }: { missed?: number; isSent?: boolean } = {},
  ): void {
    this.memory.store32(INFO + 8, isSent ? 0 : SI_TIMER);
    this.memory.store32(INFO + 20, missed);
    this.memory.store64(CONTEXT + 120, BigInt(at.framePointer));
    this.memory.store64(CONTEXT + 160, BigInt(at.stackPointer));
    this.memory.store64(CONTEXT + 168, BigInt(at.address));
    this.hooks.sample_handler(FIRST_SIGNAL, BigInt(INFO), BigInt(CONTEXT));
  }

  /** The program sets a handler. @returns the handler before */
  handle(signal: number, handler: number): number {
    this.memory.store64(ACTION, BigInt(handler));
    this.hooks.sigaction(signal, BigInt(ACTION), BigInt(OLD));
    return Number(this.memory.load64(OLD));
  }

  keepOff(set: bigint): void {
    this.memory.store64(SET, set);
    this.hooks.pthread_sigmask(0, BigInt(SET), 0n);
  }

  /** Memory that the parent reads. */
  get shared(): SampledMemory {
    const { view, linear } = this;
    return {
      header: (field) => view.getUint32(field, true),
      u64: (at) => Number(view.getBigUint64(at, true)),
      setU64: (at, value) => view.setBigUint64(at, BigInt(value), true),
      bytes: (at, length) => Buffer.from(linear.buffer, at, length),
      write: (at, bytes) => new Uint8Array(linear.buffer).set(bytes, at),
      modules: () =>
        readModules(linear.buffer as unknown as SharedArrayBuffer, view.getUint32(Header.modules, true)),
    };
  }

  set isInHook(value: boolean) {
    this.setThreadWord(Tls.guard, value ? 1n : 0n);
  }
}
