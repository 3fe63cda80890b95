/** Keeps the first and the last bytes of a long text, half and half. */
export class HeadAndTail {
  readonly #limit: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #dropped = 0;

  /** @param limit bytes that are kept in all. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get isTruncated(): boolean {
    return this.#dropped > 0;
  }

  add(chunk: Buffer): void {
    const headRoom = Math.ceil(this.#limit / 2) - this.#headBytes;
    if (headRoom > 0) {
      const part = chunk.subarray(0, headRoom);
      this.#head.push(part);
      this.#headBytes += part.length;
    }
    const rest = headRoom > 0 ? chunk.subarray(headRoom) : chunk;
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    if (this.#tailBytes > this.#limit) this.#trim(); // not at each chunk: that would copy the tail each time
  }

  text(): string {
    this.#trim();
    const tail = Buffer.concat(this.#tail).toString();
    const gap = this.#dropped > 0 ? `\n… ${this.#dropped} bytes left out …\n` : "";
    return this.#dropped > 0
      ? Buffer.concat(this.#head).toString() + gap + tail
      : Buffer.concat([...this.#head, ...this.#tail]).toString(); // a character may lie across the two
  }

  #trim(): void {
    const excess = this.#tailBytes - Math.floor(this.#limit / 2);
    if (excess <= 0) return;
    const tail = Buffer.concat(this.#tail).subarray(excess);
    this.#tail = [tail];
    this.#tailBytes = tail.length;
    this.#dropped += excess;
  }
}
