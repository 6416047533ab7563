import { readFileSync } from "node:fs";
import { Digest, packageFile, require, runAsScript, sequence, type Workload } from "./workload.ts";

function sourceText(functions: number): string {
  const next = sequence(9);
  return Array.from(
    { length: functions },
    (
      _,
      i,
    ) => `export class Part${i} { #value: number = ${next(100)}; get twice(): number { return this.#value! * 2 } }
export const make${i} = async (name: string, ...rest: unknown[]) => ({ ...rest, name, part: new Part${i}(), at: name?.length ?? ${next(9)} });
if (make${i}.length > ${next(3)}) console.log(\`made \${${i}} of ${next(50)}\`);`,
  ).join("\n");
}

/** The part of Node's fs that Go's runtime uses: standard streams in memory, no files. */
function memoryFiles(input: string) {
  const output: Uint8Array[] = [];
  let unread = new TextEncoder().encode(input);
  const missing = Object.assign(new Error("not implemented"), { code: "ENOSYS" });
  const refuse = (...args: unknown[]) => (args.at(-1) as (error: Error) => void)(missing);
  const fs = {
    constants: {
      O_WRONLY: 1,
      O_RDWR: 2,
      O_CREAT: 64,
      O_TRUNC: 512,
      O_APPEND: 1024,
      O_EXCL: 128,
      O_DIRECTORY: 65536,
    },
    writeSync: (_descriptor: number, bytes: Uint8Array) => output.push(bytes.slice()) && bytes.length,
    write(
      fd: number,
      bytes: Uint8Array,
      at: number,
      length: number,
      _position: unknown,
      done: (e: null, n: number) => void,
    ) {
      done(null, fs.writeSync(fd, bytes.subarray(at, at + length)));
    },
    read(
      _fd: number,
      bytes: Uint8Array,
      at: number,
      length: number,
      _position: unknown,
      done: (e: null, n: number) => void,
    ) {
      const chunk = unread.subarray(0, length);
      bytes.set(chunk, at);
      unread = unread.subarray(chunk.length);
      done(null, chunk.length);
    },
    fstat: refuse,
    open: refuse,
    stat: refuse,
    lstat: refuse,
    readdir: refuse,
    close: refuse,
    readlink: refuse,
  };
  return { fs, output };
}

/** esbuild: Go, with a collector and no malloc; TypeScript from standard input to minified JavaScript. */
export const esbuild: Workload = {
  name: "esbuild",
  files: () => [{ wasm: packageFile("esbuild-wasm", "esbuild.wasm") }],
  load: async () => {
    const bytes = readFileSync(packageFile("esbuild-wasm", "esbuild.wasm"));
    const module = await WebAssembly.compile(bytes);
    return {
      run: async (scale) => {
        const scope = globalThis as { fs?: unknown; Go?: new () => GoProgram };
        const { fs, output } = memoryFiles(sourceText(scale === "full" ? 400 : 10));
        const before = scope.fs;
        scope.fs = fs;
        try {
          const file = packageFile("esbuild-wasm", "wasm_exec.js");
          delete require.cache[file];
          require(file);
          const go = new (scope.Go as new () => GoProgram)();
          let exitCode = -1;
          go.exit = (code) => {
            exitCode = code;
          };
          go.argv = ["esbuild", "--loader=ts", "--minify", "--target=es2019"];
          await go.run(await WebAssembly.instantiate(module, go.importObject));
          const text = Buffer.concat(output);
          if (exitCode !== 0) throw new Error(`exit code ${exitCode}: ${text}`);
          return new Digest().add(text).finish(`${text.length} bytes`);
        } finally {
          scope.fs = before;
        }
      },
    };
  },
};

interface GoProgram {
  argv: string[];
  exit: (code: number) => void;
  importObject: WebAssembly.Imports;
  run(instance: WebAssembly.Instance): Promise<void>;
}

if (import.meta.main) await runAsScript(esbuild);
