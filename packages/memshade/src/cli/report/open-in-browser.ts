import { spawn } from "node:child_process";

/** What takes longer to start is taken to have done so. */
const PATIENCE_MS = 3000;

/** Has the system's browser show an address. @returns whether there is one that took it */
export function openInBrowser(address: string): Promise<boolean> {
  const command = opener(address);
  if (command === undefined) return Promise.resolve(false);
  const [name, ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(name!, args, { stdio: "ignore", detached: true });
    const timer = setTimeout(() => resolve(true), PATIENCE_MS);
    const end = (isOpen: boolean) => {
      clearTimeout(timer);
      resolve(isOpen);
    };
    child.on("error", () => end(false));
    child.on("exit", (code) => end(code === 0));
    child.unref();
  });
}

function opener(address: string): readonly string[] | undefined {
  switch (process.platform) {
    case "darwin":
      return ["open", address];
    case "win32":
      return ["rundll32", "url.dll,FileProtocolHandler", address];
    default: {
      const { DISPLAY, WAYLAND_DISPLAY, WSL_DISTRO_NAME } = process.env;
      const hasScreen = [DISPLAY, WAYLAND_DISPLAY, WSL_DISTRO_NAME].some((value) => (value ?? "") !== "");
      // Without a screen a browser in the terminal would take that over.
      return hasScreen ? ["xdg-open", address] : undefined;
    }
  }
}
