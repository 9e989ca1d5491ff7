import type { Asked, Told } from './digest';
import { Digester, UnreadableFile } from './sha256';

const digester = new Digester();
let before: Promise<void> = Promise.resolve();

async function answer({ id, part }: Asked): Promise<Told> {
  try {
    return { id, sha256: await digester.digest(part) };
  } catch (error) {
    if (error instanceof UnreadableFile) return { id, sha256: null };
    throw error;
  }
}

/** One after the other, so that one slice is in memory at a time. */
self.onmessage = ({ data }: MessageEvent<Asked>) => {
  before = before.then(async () => {
    self.postMessage(await answer(data));
  });
};
