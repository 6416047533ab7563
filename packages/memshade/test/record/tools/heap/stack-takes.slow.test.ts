import { describe, expect, it } from "vitest";
import type { RunStackTakes } from "../../../../src/profile/model/run.ts";
import { profile } from "../../../../src/record/host/profile.ts";
import { wat } from "../../../support/assemble.ts";
import { BUMP, Profiled } from "../../../support/profiled.ts";

const STACK_END = 65_536;

/** Functions as Emscripten and wasm-bindgen export them, and one with a frame of 64 bytes around a call of the host. */
const FUNCTIONS = `
  (func (export "stackSave") (result i32) (global.get $__stack_pointer))
  (func $stackAlloc (export "stackAlloc") (param i32) (result i32)
    (global.set $__stack_pointer
      (local.tee 0 (i32.and (i32.sub (global.get $__stack_pointer) (local.get 0)) (i32.const -16))))
    (local.get 0))
  (func (export "stackRestore") (param i32) (global.set $__stack_pointer (local.get 0)))
  (func (export "addToStackPointer") (param i32) (result i32)
    (global.set $__stack_pointer (i32.add (global.get $__stack_pointer) (local.get 0)))
    (global.get $__stack_pointer))
  (func (export "framed") (local $frame i32)
    (global.set $__stack_pointer (local.tee $frame (i32.sub (global.get $__stack_pointer) (i32.const 64))))
    (call $call)
    (drop (call $malloc (i32.const 8)))
    (global.set $__stack_pointer (i32.add (local.get $frame) (i32.const 64))))`;
const MODULE = wat(`(module (import "host" "call" (func $call)) (memory 32 32) ${BUMP}
  (global $__stack_pointer (mut i32) (i32.const ${STACK_END})) ${FUNCTIONS})`);

interface Exports {
  stackSave(): number;
  stackAlloc(bytes: number): number;
  stackRestore(to: number): void;
  addToStackPointer(bytes: number): number;
  framed(): void;
}

interface Host {
  call(): void;
}

/** Stack bytes taken at the end of `program`, which may set the function that the module calls. */
function takesOf(program: (exports: Exports, host: Host) => void): readonly RunStackTakes[] {
  const host: Host = { call: () => {} };
  const profiled = new Profiled(MODULE, { imports: () => ({ host: { call: () => host.call() } }) });
  program(profiled.exports as unknown as Exports, host);
  return profiled.snapshot().modules[0]!.stackTakes ?? [];
}

function times(count: number, action: (index: number) => void): void {
  for (let index = 0; index < count; index++) action(index);
}

describe("stack bytes that the host takes", () => {
  it("are counted if they are not given back", () => {
    expect(takesOf(({ stackAlloc }) => times(100, () => stackAlloc(20)))).toEqual([
      { function: "stackAlloc", frames: [], calls: 100, bytes: 3200, stackBytes: STACK_END },
    ]);
  });

  it("are not counted if they are given back, by a value or by a number of bytes", () => {
    const call = ({ stackSave, stackAlloc, stackRestore }: Exports): void => {
      const before = stackSave();
      times(3, () => stackAlloc(16));
      stackRestore(before);
    };
    expect(takesOf((exports) => times(100, () => call(exports)))).toEqual([]);
    const bind = ({ addToStackPointer }: Exports): void => {
      addToStackPointer(-16);
      addToStackPointer(16);
    };
    expect(takesOf((exports) => times(100, () => bind(exports)))).toEqual([]);
  });

  it("are not counted if a single part is kept for good", () => {
    expect(takesOf(({ stackAlloc }) => void stackAlloc(4096))).toEqual([]);
  });

  it("are given back if the running function returns", () => {
    const program = ({ framed, stackAlloc }: Exports, host: Host): void => {
      host.call = () => void stackAlloc(16);
      times(100, () => framed());
    };
    expect(takesOf(program)).toEqual([]);
  });

  it("are counted between calls that give theirs back", () => {
    const program = ({ stackSave, stackAlloc, stackRestore }: Exports): void => {
      times(50, () => {
        stackAlloc(32);
        const before = stackSave();
        stackAlloc(16);
        stackRestore(before);
      });
    };
    expect(takesOf(program)).toMatchObject([{ calls: 50, bytes: 1600 }]);
  });

  it("are fewer if a part is given back", () => {
    const program = ({ addToStackPointer }: Exports): void => {
      addToStackPointer(-64);
      addToStackPointer(-64);
      addToStackPointer(48);
    };
    expect(takesOf(program)).toMatchObject([{ calls: 2, bytes: 80 }]);
  });

  it("are not counted on other stacks, such as those of coroutines", () => {
    const program = ({ stackSave, stackRestore }: Exports): void => {
      const own = stackSave();
      times(100, (index) => {
        stackRestore(2 * STACK_END - 64 * index);
        stackRestore(own);
      });
    };
    expect(takesOf(program)).toEqual([]);
  });

  it("are counted completely beyond the module's list", () => {
    expect(takesOf(({ addToStackPointer }) => times(6000, () => addToStackPointer(-8)))).toMatchObject([
      { calls: 6000, bytes: 48_000 },
    ]);
  });

  it("include frames that an exception of the host left", () => {
    const program = ({ framed }: Exports, host: Host): void => {
      host.call = () => {
        throw new Error("no");
      };
      times(100, () => expect(() => framed()).toThrow("no"));
    };
    const [takes, ...others] = takesOf(program);
    expect({ takes, others }).toEqual({
      takes: { frames: [], calls: 100, bytes: 6400, stackBytes: STACK_END },
      others: [],
    });
  });

  it("leave out such frames if the host or a caller restores the stack pointer", () => {
    const restored = ({ framed, stackSave, stackRestore }: Exports, host: Host): void => {
      host.call = () => {
        throw new Error("no");
      };
      times(100, () => {
        const before = stackSave();
        expect(() => framed()).toThrow("no");
        stackRestore(before);
      });
    };
    expect(takesOf(restored)).toEqual([]);
    const around = ({ framed }: Exports, host: Host): void => {
      let depth = 0;
      host.call = () => {
        if (depth++ === 1) throw new Error("no");
        expect(() => framed()).toThrow("no");
      };
      times(100, () => {
        depth = 0;
        framed();
      });
    };
    expect(takesOf(around)).toEqual([]);
  });

  it("have their callers in JavaScript", async () => {
    const { run } = await profile(
      MODULE,
      async (instantiate) => {
        const { stackAlloc } = (await instantiate({ host: { call: () => {} } }))
          .exports as unknown as Exports;
        const first = (): void => void stackAlloc(16);
        const second = (): void => void stackAlloc(32);
        times(80, (index) => (index % 4 === 0 ? first() : second()));
      },
      { name: "m", hostStacks: "sampled" },
    );
    const takes = run.modules[0]!.stackTakes!;
    expect(takes.map(({ frames, calls, bytes }) => [frames[0]!.name, calls, bytes])).toEqual([
      ["second", 60, 1920],
      ["first", 20, 320],
    ]);
  });
});
