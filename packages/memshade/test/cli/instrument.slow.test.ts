import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readProfile } from "../../src/index.ts";
import { memshade, newFolder } from "./support/command-line.ts";
import { LIBRARY, writeProgram } from "./support/programs.ts";

describe("memshade instrument", () => {
  it("writes a module that stands alone and carries its profile", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "library.wasm", LIBRARY);
    const { code, stdout, stderr } = await memshade(["instrument", "library.wasm", "-o", "out.wasm"], {
      cwd,
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toMatch(
      /^memshade: out\.wasm written \([\d.]+ times the size\); read its profile with the loader/,
    );
    const { module, instance } = await WebAssembly.instantiate(readFileSync(join(cwd, "out.wasm")), {
      host: { notify() {} },
    });
    (instance.exports.fill as (count: number) => number)(6);
    const { run } = readProfile(instance, module, { original: readFileSync(join(cwd, "library.wasm")) });
    expect(run).toMatchObject({ program: "library.wasm", heap: { allocations: 6 } });
  });

  it("takes the options that shape the module", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "library.wasm", LIBRARY);
    const args = ["instrument", "--exact-histogram", "--shared", "library.wasm", "-o", "out.wasm"];
    await memshade(args, { cwd });
    const { module, instance } = await WebAssembly.instantiate(readFileSync(join(cwd, "out.wasm")), {
      host: { notify() {} },
    });
    expect((instance.exports["memshade.memory"] as WebAssembly.Memory).buffer).toBeInstanceOf(
      SharedArrayBuffer,
    );
    expect(readProfile(instance, module).run.tools.heap?.counters).toBe("exact");
  });

  it("says what the profile will lack: blocks without a known allocator, accesses of libraries, other threads", async () => {
    const cwd = newFolder();
    const sentences = async (text: string, ...section: number[]): Promise<string> => {
      const path = writeProgram(cwd, "program.wasm", text);
      writeFileSync(path, Buffer.concat([readFileSync(path), Uint8Array.from(section)]));
      const { code, stderr } = await memshade(["instrument", "program.wasm", "-o", "out.wasm"], { cwd });
      expect(code).toBe(0);
      return stderr.slice(stderr.indexOf("\n") + 1);
    };
    const touching = '(func (export "touch") (i32.store (i32.const 8) (i32.const 1)))';
    expect(await sentences(`(module (memory 1) ${touching})`)).toMatch(
      /^memshade: No allocator was found: allocations are not tracked\. Name the functions with [^\n]+\n$/,
    );
    expect(await sentences(`(module (func (export "run")))`)).toBe(
      "memshade: The module has no linear memory: there is nothing to record.\n",
    );
    const dylink = [0, 10, 8, ...Buffer.from("dylink.0"), 0];
    expect(await sentences(`(module (import "env" "memory" (memory 1)) ${touching})`, ...dylink)).toMatch(
      /^memshade: A dynamic library [^\n]+\n$/,
    );
    const shared = await sentences(`(module (import "env" "memory" (memory 1 1 shared)) ${touching})`);
    expect(shared).toMatch(/each thread is recorded separately[^\n]+`memshade node` records all/);
  });

  it("never overwrites its input and leaves no file behind when it fails", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "library.wasm", LIBRARY);
    const before = readFileSync(join(cwd, "library.wasm"));
    const same = await memshade(["instrument", "library.wasm", "-o", "./library.wasm"], { cwd });
    expect(same).toMatchObject({
      code: 2,
      stderr: "memshade: ./library.wasm is the original module: write to another file with -o\n",
    });
    expect(readFileSync(join(cwd, "library.wasm")).equals(before)).toBe(true);

    const nowhere = await memshade(["instrument", "library.wasm", "-o", "no/where.wasm"], { cwd });
    expect(nowhere).toMatchObject({
      code: 2,
      stderr: "memshade: cannot write no/where.wasm: no such file or folder\n",
    });

    writeFileSync(join(cwd, "bad.wasm"), before.subarray(0, 60));
    const bad = await memshade(["instrument", "bad.wasm", "-o", "out.wasm"], { cwd });
    expect(bad.code).toBe(2);
    expect(bad.stderr).toMatch(/^memshade: bad\.wasm: [^\n]+\n$/);
    expect(existsSync(join(cwd, "out.wasm"))).toBe(false);
    expect(readdirSync(cwd).sort()).toEqual(["bad.wasm", "library.wasm"]);
  });
});
