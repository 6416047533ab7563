import {
  Digest,
  embeddedIn,
  packageFile,
  requireAnew,
  runAsScript,
  sequence,
  type Workload,
} from "./workload.ts";

function people(count: number): { name: string; age: number; tags: string[] }[] {
  const next = sequence(21);
  return Array.from({ length: count }, (_, index) => ({
    name: `person ${index}`,
    age: next(90),
    tags: Array.from({ length: next(5) }, () => `tag${next(20)}`),
  }));
}

const FILTERS = [
  "group_by(.age) | map({age: .[0].age, count: length})",
  "[.[] | select(.age > 30) | .tags[]] | unique",
  'map(.name | ltrimstr("person") | ascii_downcase) | sort | .[0:9]',
  'reduce .[] as $p ({}; .[$p.tags[0] // "none"] += $p.age)',
];

/** jq: C; queries over a list of objects. */
export const jq: Workload = {
  name: "jq",
  files: () => embeddedIn(packageFile("jq-wasm", "dist/build/jq.js")),
  load: async () => {
    const { raw } = requireAnew("jq-wasm");
    const inputs = { full: JSON.stringify(people(150)), small: JSON.stringify(people(30)) };
    return {
      run: async (scale) => {
        const digest = new Digest();
        for (const filter of FILTERS) digest.add(await raw(inputs[scale], filter, ["-c"]));
        return digest.finish(`${inputs[scale].length} bytes`);
      },
    };
  },
};

if (import.meta.main) await runAsScript(jq);
