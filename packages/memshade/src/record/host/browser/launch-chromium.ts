import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, rmSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Duplex, Readable, Writable } from "node:stream";
import { UserError } from "../../../ground/bytes/errors.ts";
import { EndedBySignal, unlessSignalled } from "../run/die-by-signal.ts";
import { programEnvironment } from "../run/inherited.ts";
import { makeOwnedFolder, parentOfSocket, removeLeftFolders } from "../run/owned-folders.ts";
import { type CdpListener, CdpPipe } from "./cdp-pipe.ts";

/** The first version whose modules may have several memories. */
const FIRST_VERSION = 120;

/** The kind of folder that a browser keeps its own things in. */
const PROFILE = "chromium";

/** The socket that Chromium makes in its folder for temporary files, which is its profile. */
const SOCKET = "org.chromium.Chromium.XXXXXX/SingletonSocket";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge"];

/** Where installers put it that tell no PATH of it. */
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
  /** The program, if the user has named one. */
  browser?: string | undefined;
  /** Without a window. */
  headless: boolean;
  /** Further arguments, from the user. */
  browserArgs: readonly string[];
  /** The URL of the page it begins with. */
  url: string;
}

/** How somebody else has a browser started. */
export interface ClientLaunch {
  browser: string;
  /** All arguments, as they are. */
  args: readonly string[];
}

/** A browser that was started for this run alone. */
export interface Chromium {
  readonly process: ChildProcess;
  readonly cdp: CdpPipe;
  /** As it calls itself, such as `Chrome/131.0.6778.33`. */
  readonly product: string;
  /** Ends it, and removes what it has left. */
  close(): Promise<void>;
}

/**
 * The browser's program: as named, as `CHROME_PATH` says, or under one of its usual names.
 *
 * @throws UserError where there is none
 */
export function findChromium(named: string | undefined, environment = process.env): string {
  if (named !== undefined) return given("--browser", named);
  const { CHROME_PATH: path } = environment;
  if (path !== undefined && path !== "") return given("CHROME_PATH", path);
  const folders = (environment.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = [
    ...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))),
    ...(PLACES[process.platform] ?? []),
  ];
  const found = candidates.find(isProgram);
  if (found === undefined)
    throw new UserError(
      "no Chromium or Chrome was found: install one, or name its program with --browser or CHROME_PATH",
    );
  return found;
}

function given(by: string, path: string): string {
  if (isProgram(path)) return path;
  const there = statSync(path, { throwIfNoEntry: false });
  throw new UserError(`${by} ${path}: ${there === undefined ? "no such file" : "it is no program"}`);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Whether windows can be shown. */
export function hasDisplay(environment = process.env): boolean {
  if (process.platform !== "linux") return true;
  return Boolean(environment.DISPLAY || environment.WAYLAND_DISPLAY);
}

/** Chromium's sandbox cannot be set up by root: it refuses to start with it. */
export function needsNoSandbox(): boolean {
  return process.platform === "linux" && process.getuid?.() === 0;
}

/**
 * Starts a browser with a profile directory of its own.
 *
 * @throws UserError where it does not start, or is too old
 * @throws EndedBySignal
 */
export async function launchChromium(
  options: LaunchOptions | ClientLaunch,
  listener: CdpListener,
): Promise<Chromium> {
  const path = findChromium(options.browser);
  const isClients = "args" in options;
  // Of runs that were killed.
  const parent = parentOfSocket(PROFILE, SOCKET);
  removeLeftFolders(parent, PROFILE);
  const profile = isClients ? undefined : makeOwnedFolder(parent, PROFILE);
  const args = isClients ? options.args : argumentsOf(options, profile as string);
  const child = spawn(path, args, {
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
    // What one that is killed leaves in its folder for temporary files goes with its profile.
    env: { ...programEnvironment(), ...(profile === undefined ? {} : { TMPDIR: profile }) },
    // Keys of the terminal are for this process, which tells the browser.
    detached: process.platform !== "win32",
  });
  const last = lastWords(child.stderr as Readable);
  // Whoever has it started may look for words of it.
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
        `${path} is version ${version}: modules with several memories, which profiled ones are, need ${FIRST_VERSION} or later`,
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
    // Containers have little of it, and a page that is out of it is gone.
    ...(process.platform === "linux" ? ["--disable-dev-shm-usage"] : []),
    ...(headless ? ["--headless"] : []),
    ...(needsNoSandbox() ? ["--no-sandbox"] : []),
    ...browserArgs,
    url,
  ];
}

/** Ends the browser and all processes that it has started. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has gone by itself.
  }
}

/** The last line that a stream has had, without its time and place. */
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
