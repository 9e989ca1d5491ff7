export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';

  constructor() {
    super('The file cannot be read any more: it was changed, moved or deleted. Choose it again to continue.');
  }
}

const CHUNK = 1 << 20; // bytes

/** Digests one slice after another, through one buffer of a slice's size. */
export class Digester {
  private buffer = new Uint8Array();

  /** Return the hex SHA-256. Await it before the next call: both use one buffer. Throws UnreadableFile. */
  async digest(part: Blob): Promise<string> {
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = await this.read(part);
    } catch {
      throw new UnreadableFile(); // the DOMException's message is for developers
    }
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  /** Read into one buffer: Chromium keeps what `arrayBuffer()` and other streams read, so that 600 MB of slices took 600 MB. */
  private async read(part: Blob): Promise<Uint8Array<ArrayBuffer>> {
    const reader = openByteReader(part);
    if (reader === null) return new Uint8Array(await part.arrayBuffer());
    if (this.buffer.length < part.size) this.buffer = new Uint8Array(part.size);
    let chunk = new Uint8Array(CHUNK);
    for (let at = 0; ; ) {
      const { value } = await reader.read(chunk);
      if (!value?.length) return this.buffer.subarray(0, at);
      this.buffer.set(value, at);
      at += value.length;
      chunk = new Uint8Array(value.buffer);
    }
  }
}

/** Return null in browsers whose slices are not byte streams; those use `arrayBuffer()`. */
function openByteReader(part: Blob): ReadableStreamBYOBReader | null {
  try {
    return part.stream().getReader({ mode: 'byob' });
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

export const digestSha256 = (part: Blob): Promise<string> => new Digester().digest(part);
