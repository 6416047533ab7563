import { readFileSync } from "node:fs";
import { MemoryWasi } from "../harness/wasi.ts";
import { Digest, packageFile, require, runAsScript, type Workload } from "./workload.ts";

const PROGRAM = `
Point = Struct.new(:x, :y) do
  def +(other) = Point.new(x + other.x, y + other.y)
end
words = (0...N * 50).map { |i| "word#{i * i % 97}" }
counts = words.tally.sort_by { |word, count| [-count, word] }.first(3)
sum = (0...N * 50).map { |i| Point.new(i, i % 7) }.reduce(:+)
sieve = (2..N * 20).reject { |k| (2..Integer.sqrt(k)).any? { |d| (k % d).zero? } }
text = (0...N * 10).map { |i| "line #{i}: " + "ab" * (i % 5) }.join("\\n")
memo = Hash.new { |hash, k| hash[k] = k < 2 ? k : hash[k - 1] + hash[k - 2] }
caught = begin; Integer("none"); rescue ArgumentError => error; error.message; end
puts counts.inspect
[counts, sum.to_a, sieve.size, text.scan(/\\d+: (?:ab)+$/).size, memo[N * 2 % 300], caught].inspect
`;

/** CRuby, set up through its own JavaScript. Fibers and exceptions unwind by Asyncify; its build has no names. */
export const ruby: Workload = {
  name: "ruby",
  files: () => [{ wasm: packageFile("@ruby/3.4-wasm-wasi", "dist/ruby.wasm") }],
  load: async () => {
    const { RubyVM } = require("@ruby/wasm-wasi");
    const bytes = readFileSync(packageFile("@ruby/3.4-wasm-wasi", "dist/ruby.wasm"));
    const module = await WebAssembly.compile(bytes);
    const wasi = new MemoryWasi({ args: ["ruby"], env: { RUBY_FIBER_MACHINE_STACK_SIZE: "1048576" } });
    const { vm } = await RubyVM.instantiateModule({
      module,
      wasip1: {
        wasiImport: wasi.imports.wasi_snapshot_preview1,
        initialize: (instance: WebAssembly.Instance) => wasi.start(instance),
      },
      args: ["ruby.wasm", "--disable=gems", "-e_=0"],
    });
    return {
      run: (scale) => {
        const answer: string = vm.eval(`N = ${scale === "full" ? 120 : 3}\n${PROGRAM}`).toString();
        return new Digest().add(answer).add(wasi.output(1)).finish(answer.slice(0, 60));
      },
    };
  },
};

if (import.meta.main) await runAsScript(ruby);
