/** A line of progress on a terminal; nothing elsewhere. */
export class Progress {
  private readonly what: string;
  private readonly stream: NodeJS.WriteStream;
  private shownAt = 0;

  constructor(what: string, stream: NodeJS.WriteStream = process.stderr) {
    this.what = what;
    this.stream = stream;
  }

  show(done: number, total: number): void {
    if (this.stream.isTTY !== true || total < 2) return;
    const now = Date.now();
    if (now - this.shownAt < 100 && done < total) return;
    this.shownAt = now;
    this.stream.write(`\r\x1b[Kmemshade: ${this.what}: ${done} of ${total}`);
  }

  clear(): void {
    if (this.shownAt !== 0) this.stream.write("\r\x1b[K");
    this.shownAt = 0;
  }
}
