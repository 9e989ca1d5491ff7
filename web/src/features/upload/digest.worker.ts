import type { Asked, Told } from './digest';
import { UnreadableFile, sha256 } from './sha256';

async function answer({ id, part }: Asked): Promise<Told> {
  try {
    return { id, sha256: await sha256(part) };
  } catch (error) {
    if (error instanceof UnreadableFile) return { id, sha256: null };
    throw error;
  }
}

self.onmessage = async ({ data }: MessageEvent<Asked>) => {
  self.postMessage(await answer(data));
};
