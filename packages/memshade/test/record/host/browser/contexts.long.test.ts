import { describe, expect, it } from "vitest";
import { assemble, LIBRARY } from "../../../cli/support/programs.ts";
import { browse, isInstalled } from "./support/browse.ts";

const LIBRARY_BYTES = assemble(LIBRARY);
/** A script with an inline module, which it compiles at once; one block per instance. */
const INLINED = `
const bytes = Uint8Array.from([${LIBRARY_BYTES.join()}]);
const names = Object.getOwnPropertyNames(globalThis).filter((name) => /memshade/.test(name));
const makeNow = () => {
  const module = new WebAssembly.Module(bytes);
  const { exports } = new WebAssembly.Instance(module, { host: { notify() {} } });
  exports.fill(1);
  return [names.length, Object.keys(exports).length, WebAssembly.Module.exports(module).length,
    WebAssembly.Module.customSections(module, "memshade").length, new Error().stack.includes("memshade")].join();
};
const makeLater = async () => {
  const { instance } = await WebAssembly.instantiate(bytes, { host: { notify() {} } });
  instance.exports.fill(1);
};`;
const PLAIN = "0,7,7,0,false";

const tell = (what: string): string => `fetch("/told", { method: "POST", body: ${what} })`;
/** Sends `data` by a form, for pages that may not make requests. */
const TELL_BY_FORM = `const form = document.createElement("form"); document.documentElement.append(form);
  form.method = "post"; form.action = "/told"; form.enctype = "text/plain"; form.innerHTML = '<input name="a">'; form.firstChild.value = data; form.submit();`;
const page = (script: string, head = ""): string =>
  `<!doctype html><meta charset="utf-8">${head}<script>${script}</script>`;

const WORKER = `${INLINED} makeLater().then(() => postMessage(makeNow()));`;
const heard = (made: string): string =>
  `{ const worker = ${made}; worker.onmessage = ({ data }) => ${tell("data")}; worker.onerror = (e) => ${tell("'error ' + e.message")}; }`;

/** Ways to create a context of each kind: two blocks, one of them in a module that is compiled synchronously. */
const KINDS: readonly [what: string, site: Record<string, string>, allocations?: number][] = [
  ["a page", { "/": page(`${INLINED} makeLater().then(() => ${tell("makeNow()")});`) }],
  [
    "a frame of the same origin",
    {
      "/": page(
        `document.documentElement.append(Object.assign(document.createElement("iframe"), { src: "/frame.html" }))`,
      ),
      "/frame.html": page(`${INLINED} makeLater().then(() => ${tell("makeNow()")});`),
    },
  ],
  [
    "a frame without an address",
    {
      "/": page(`${INLINED.replaceAll("</", "<\\/")}
      const frame = document.createElement("iframe");
      frame.srcdoc = "<script>" + ${JSON.stringify(`${INLINED} makeLater().then(() => parent.told(makeNow()));`)} + "<" + "/script>";
      globalThis.told = (text) => ${tell("text")};
      document.documentElement.append(frame);`),
    },
  ],
  [
    "a sandboxed frame",
    {
      "/": page(`onmessage = ({ data }) => ${tell("data")};
      const frame = document.createElement("iframe");
      frame.sandbox = "allow-scripts"; frame.src = "/frame.html"; document.documentElement.append(frame);`),
      "/frame.html": page(`${INLINED} makeLater().then(() => parent.postMessage(makeNow(), "*"));`),
    },
  ],
  ["a worker", { "/": page(heard(`new Worker("/worker.js")`)), "/worker.js": WORKER }],
  [
    "a module worker",
    { "/": page(heard(`new Worker("/worker.js", { type: "module" })`)), "/worker.js": WORKER },
  ],
  [
    "a worker from a blob",
    { "/": page(heard(`new Worker(URL.createObjectURL(new Blob([${JSON.stringify(WORKER)}])))`)) },
  ],
  [
    "a worker of a worker",
    {
      "/": page(heard(`new Worker("/outer.js")`)),
      "/outer.js": `new Worker("/worker.js").onmessage = ({ data }) => postMessage(data);`,
      "/worker.js": WORKER,
    },
  ],
  [
    "a shared worker",
    {
      "/": page(
        `const { port } = new SharedWorker("/shared.js"); port.onmessage = ({ data }) => ${tell("data")};`,
      ),
      "/shared.js": `${INLINED} onconnect = ({ ports: [port] }) => makeLater().then(() => port.postMessage(makeNow()));`,
    },
  ],
  [
    "a service worker",
    {
      "/": page(`navigator.serviceWorker.onmessage = ({ data }) => ${tell("data")};
      navigator.serviceWorker.register("/service.js").then(async () => (await navigator.serviceWorker.ready).active.postMessage("go"));`),
      "/service.js": `${INLINED} let made; onmessage = ({ source }) => { makeLater().then(() => source.postMessage(makeNow())); };`,
    },
  ],
  [
    "an audio worklet",
    {
      "/": page(`(async () => {
        const context = new OfflineAudioContext(1, 128, 44100);
        await context.audioWorklet.addModule("/worklet.js");
        const node = new AudioWorkletNode(context, "maker");
        node.port.onmessage = ({ data }) => ${tell("data")};
        node.port.postMessage("go");
      })();`),
      "/worklet.js": `${INLINED}
        registerProcessor("maker", class extends AudioWorkletProcessor {
          constructor() { super(); this.port.onmessage = () => makeLater().then(() => this.port.postMessage(makeNow())); }
          process() { return true; }
        });`,
    },
  ],
];

describe.skipIf(!isInstalled)("the modules of", () => {
  it.each(KINDS)("%s are profiled, and nothing shows", async (_what, site) => {
    const { told, run, stderr } = await browse(site);
    expect(told, stderr).toBe(PLAIN);
    expect(run?.heap, stderr).toMatchObject({ allocations: 2 });
    expect(run?.notTracked).toEqual([]);
  });

  it("a worker of a page that forbids requests are profiled, compiled at once too", async () => {
    const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; connect-src 'none'">`;
    const { told, run, stderr } = await browse(
      {
        "/": page(
          `const worker = new Worker("/worker.js");
           worker.onmessage = ({ data }) => { ${TELL_BY_FORM} };`,
          policy,
        ),
        "/worker.js": WORKER,
      },
      { headers: { "Content-Security-Policy": "connect-src 'none'" } },
    );
    expect(told.trim()).toBe(`a=${PLAIN}`);
    expect(run?.heap, stderr).toMatchObject({ allocations: 2 });
  });

  it.each([
    [
      "is not",
      [],
      /is not profiled: the page's content security policy forbids it \(--bypass-csp ignores the policy\)/,
    ],
    ["is with --bypass-csp", ["--bypass-csp"], /profile written/],
  ])("a page that forbids requests, compiled at once: it %s profiled", async (_what, args, said) => {
    const { told, stderr } = await browse(
      { "/": page(`${INLINED} const data = makeNow(); ${TELL_BY_FORM}`) },
      { headers: { "Content-Security-Policy": "connect-src 'none'" }, args },
    );
    expect(told.trim()).toBe(`a=${PLAIN}`);
    expect(stderr).toMatch(said);
  });

  it("a page with trusted types are profiled", async () => {
    const { told, run, stderr } = await browse(
      { "/": page(`${INLINED} makeLater().then(() => ${tell("makeNow()")});`) },
      { headers: { "Content-Security-Policy": "require-trusted-types-for 'script'" } },
    );
    expect(told, stderr).toBe(PLAIN);
    expect(run?.heap, stderr).toMatchObject({ allocations: 2 });
  });
});
