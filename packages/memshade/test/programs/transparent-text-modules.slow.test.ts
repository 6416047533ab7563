import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { wat } from "../support/assemble.ts";
import {
  compileProgram,
  functionCount,
  INSTRUMENTED,
  instantiate,
  programBytes,
  programText,
} from "./fixtures.ts";
import { type Observation, observe } from "./text-modules.ts";

const FOLDER = new URL("../fixtures/programs/wat/", import.meta.url);
const NAMES = readdirSync(FOLDER)
  .filter((file) => file.endsWith(".wat"))
  .map((file) => file.slice(0, -4))
  .sort();

/** Modules that wabt cannot assemble; binaryen made their binaries. */
const BY_BINARYEN = ["multi-memory", "references"];

/** Modules whose export wrappers make tail calls: the trapping function is on the stack under its new number only. */
const TAIL_CALLING = ["references"];
const withoutFrames = ({ results, ...rest }: Observation): Observation => ({
  results: Object.fromEntries(
    Object.entries(results).map(([name, text]) => [name, text.replace(/ in [^ ]*$/, "")]),
  ),
  ...rest,
});

const runnable = (name: string) => WebAssembly.validate(programBytes(`wat/${name}`) as BufferSource);
const observed = (name: string, variant: Parameters<typeof compileProgram>[1]): Observation => {
  const seen = observe(compileProgram(`wat/${name}`, variant), instantiate, functionCount(`wat/${name}`));
  return TAIL_CALLING.includes(name) ? withoutFrames(seen) : seen;
};

describe.each(NAMES)("wat/%s, instrumented", (name) => {
  const supported = runnable(name);
  if (!supported) console.warn(`SKIPPED: this engine does not accept wat/${name}.wasm`);

  it.skipIf(!supported).each(INSTRUMENTED)("answers its host as it does plain (%s)", (variant) => {
    expect(observed(name, variant)).toEqual(observed(name, "plain"));
  });

  it.skipIf(BY_BINARYEN.includes(name))("is committed as its text says", async () => {
    expect(Buffer.from(wat(programText(`wat/${name}`), name))).toEqual(
      Buffer.from(programBytes(`wat/${name}`)),
    );
  });
});

describe("the modules themselves", () => {
  it.skipIf(!runnable("exceptions-legacy"))("catch, rethrow and delegate", () => {
    expect(observed("exceptions-legacy", "plain").results).toMatchObject({
      test_guarded: "100 1101 100 -1 1144",
      test_delegating: "0 7 -2 2",
      test_trap_is_not_caught: expect.stringContaining("trap: memory access out of bounds"),
      test_uncaught: "threw a tag of its own",
      test_uncaught_host: "threw the host's tag 44",
    });
  });

  it("know the difference between a trap and what came before it", () => {
    expect(observed("control-flow", "plain").results).toMatchObject({
      test_dead_code: "3",
      test_switch: "10 20 0",
      test_not_half_written: "12",
      test_second_access_traps: expect.stringContaining("trap: memory access out of bounds"),
      test_what_was_written: "89",
      test_endless_recursion: expect.stringContaining("trap: Maximum call stack size exceeded"),
    });
  });

  it("hand out one function for one function, and can be asked for it by any name", () => {
    for (const variant of ["plain", ...INSTRUMENTED] as const) {
      const call = (callee: (argument: number) => number, argument: number) => callee(argument);
      const { exports } = instantiate(compileProgram("wat/ref-func", variant), { host: { call } });
      const { allocator, give, malloc, my_malloc } = exports as Record<string, never>;
      const given = (give as () => (bytes: number) => number)();
      expect(given, variant).toBe((allocator as WebAssembly.Global).value);
      expect(my_malloc, variant).toBe(malloc);
      expect([given(16), (malloc as typeof given)(16), given(16)], variant).toEqual([1024, 1040, 1056]);
    }
  });
});
