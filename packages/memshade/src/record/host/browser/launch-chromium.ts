import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, rmSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Duplex, Readable, Writable } from "node:stream";
import { UserError } from "../../../ground/bytes/errors.ts";
import { EndedBySignal, unlessSignalled } from "../run/die-by-signal.ts";
import { programEnvironment } from "../run/inherited.ts";
import { makeOwnedFolder, parentOfSocket, removeLeftFolders } from "../run/owned-folders.ts";
import { type CdpListener, CdpPipe } from "./cdp-pipe.ts";

/** First version that supports several memories per module. */
const FIRST_VERSION = 120;

const PROFILE = "chromium";

/** Socket that Chromium creates in its temporary folder, which is its profile. */
const SOCKET = "org.chromium.Chromium.XXXXXX/SingletonSocket";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge"];

/** Paths of installations that are not in PATH. */
const PLACES: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
  ],
  win32: ["PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"].flatMap((variable) =>
    ["Google\\Chrome\\Application\\chrome.exe", "Microsoft\\Edge\\Application\\msedge.exe"].map((path) =>
      join(process.env[variable] ?? "", path),
    ),
  ),
};

export interface LaunchOptions {
  browser?: string | undefined;
  headless: boolean;
  browserArgs: readonly string[];
  url: string;
}

/** Launch with all arguments from a client. */
export interface ClientLaunch {
  browser: string;
  args: readonly string[];
}

/** Browser that was started for this run alone. */
export interface Chromium {
  readonly process: ChildProcess;
  readonly cdp: CdpPipe;
  /** Name and version, such as `Chrome/131.0.6778.33`. */
  readonly product: string;
  /** Ends the browser and removes its files. */
  close(): Promise<void>;
}

/**
 * Finds the browser's program: as named, by `CHROME_PATH`, or under one of its usual names.
 * @throws UserError if there is none
 */
export function findChromium(named: string | undefined, environment = process.env): string {
  if (named !== undefined) return checkedProgram("--browser", named);
  const { CHROME_PATH: path } = environment;
  if (path !== undefined && path !== "") return checkedProgram("CHROME_PATH", path);
  const folders = (environment.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = [
    ...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))),
    ...(PLACES[process.platform] ?? []),
  ];
  const found = candidates.find(isProgram);
  if (found === undefined)
    throw new UserError(
      "no Chromium or Chrome was found: install one, or give its path with --browser or CHROME_PATH",
    );
  return found;
}

function checkedProgram(by: string, path: string): string {
  if (isProgram(path)) return path;
  const entry = statSync(path, { throwIfNoEntry: false });
  throw new UserError(`${by} ${path}: ${entry === undefined ? "no such file" : "it is not a program"}`);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export function hasDisplay(environment = process.env): boolean {
  if (process.platform !== "linux") return true;
  return Boolean(environment.DISPLAY || environment.WAYLAND_DISPLAY);
}

/** True for root: Chromium cannot set up its sandbox then, and refuses to start with it. */
export function needsNoSandbox(): boolean {
  return process.platform === "linux" && process.getuid?.() === 0;
}

/**
 * Starts a browser with a profile directory of its own.
 * @throws UserError if it does not start, or is too old
 * @throws EndedBySignal
 */
export async function launchChromium(
  options: LaunchOptions | ClientLaunch,
  listener: CdpListener,
): Promise<Chromium> {
  const path = findChromium(options.browser);
  const isClients = "args" in options;
  // Removes the folders of killed runs.
  const parent = parentOfSocket(PROFILE, SOCKET);
  removeLeftFolders(parent, PROFILE);
  const profile = isClients ? undefined : makeOwnedFolder(parent, PROFILE);
  const args = isClients ? options.args : argumentsOf(options, profile as string);
  const child = spawn(path, args, {
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
    // Temporary files of a killed browser are removed with its profile.
    env: { ...programEnvironment(), ...(profile === undefined ? {} : { TMPDIR: profile }) },
    // Keys of the terminal go only to this process, which forwards them to the browser.
    detached: process.platform !== "win32",
  });
  const last = lastWords(child.stderr as Readable);
  // Clients may parse the browser's error output.
  if (isClients) child.stderr?.pipe(process.stderr);
  const ended = new Promise<void>((done) => {
    child.on("exit", () => done());
    child.on("error", () => done());
  });
  const close = async (): Promise<void> => {
    killGroup(child);
    await ended;
    if (profile === undefined) return;
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  const [, , , to, from] = child.stdio as unknown as [unknown, unknown, unknown, Writable, Duplex];
  const cdp = new CdpPipe(from, to, listener);
  try {
    const { product } = await unlessSignalled(() => cdp.call("Browser.getVersion"));
    const version = /\/(\d+)/.exec(product)?.[1];
    if (Number(version) < FIRST_VERSION)
      throw new UserError(
        `${path} is version ${version}: profiled modules have several memories, which need version ${FIRST_VERSION} or later`,
      );
    return { process: child, cdp, product, close };
  } catch (error) {
    await close();
    if (error instanceof UserError || error instanceof EndedBySignal) throw error;
    const words = last();
    throw new UserError(
      `${path} does not start as a browser that can be profiled${words === undefined ? "" : `: ${words}`}`,
    );
  }
}

function argumentsOf({ headless, browserArgs, url }: LaunchOptions, profile: string): string[] {
  return [
    "--remote-debugging-pipe",
    `--user-data-dir=${profile}`,
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=Translate,OptimizationHints,MediaRouter",
    "--password-store=basic",
    "--use-mock-keychain",
    // Containers have little shared memory, and a page without it crashes.
    ...(process.platform === "linux" ? ["--disable-dev-shm-usage"] : []),
    ...(headless ? ["--headless"] : []),
    ...(needsNoSandbox() ? ["--no-sandbox"] : []),
    ...browserArgs,
    url,
  ];
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // The browser has ended by itself.
  }
}

/** Returns the last line of a stream, without time and position. */
function lastWords(stream: Readable): () => string | undefined {
  let text = "";
  stream.on("data", (data: Buffer) => {
    text = (text + data.toString()).slice(-4096);
  });
  return () =>
    text
      .trim()
      .split("\n")
      .at(-1)
      ?.replace(/^\[.*?\]\s*/, "") || undefined;
}
