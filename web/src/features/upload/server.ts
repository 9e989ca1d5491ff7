/** What this feature asks the API for. */
import type { ApiClient } from '../../api/client';
import type { Schema } from '../../api/routes';
import type { Stated } from '../../ui/stated';
import type { SlideToSend } from './grouping';
import type { HeldPart } from './parts';

export type Slide = Schema<'SlideAnswer'>;

/** What is said with an upload. */
export interface Choice extends Stated {
  deidentify: boolean; // label and identifiers are removed
}

export const NO_CHOICE: Choice = { mpp: null, opticalPath: null, focalPlane: null, picture: null, deidentify: false };

export interface PartAsked {
  file: number;
  n: number;
  size: number;
  sha256: string;
}

export class UploadServer {
  constructor(private readonly api: ApiClient) {}

  async begin({ files }: SlideToSend, { mpp, opticalPath, focalPlane, picture, deidentify }: Choice): Promise<string> {
    const opened = await this.api.post('/uploads', {
      body: {
        files: files.map(({ name, file }) => ({ name, size: file.size })),
        mpp,
        optical_path: opticalPath,
        focal_plane: focalPlane,
        picture,
        deidentify,
      },
    });
    return opened.slide_id;
  }

  /** All that has arrived, and how files are cut. */
  async held(slideId: string, signal: AbortSignal): Promise<{ partSize: number; parts: HeldPart[] }> {
    const parts: HeldPart[] = [];
    let cursor: string | null = null;
    for (;;) {
      const page: Schema<'StoredParts'> = await this.api.get('/uploads/{slide_id}/parts', {
        path: { slide_id: slideId },
        query: { cursor, limit: 100 },
        signal,
      });
      parts.push(...page.items);
      cursor = page.next_cursor;
      if (cursor === null) return { partSize: page.part_size, parts };
    }
  }

  /** Where one part may be sent; the address takes these bytes only, and runs out in 15 minutes. */
  async grant(slideId: string, part: PartAsked, signal: AbortSignal): Promise<Schema<'GrantedPart'>> {
    const { parts } = await this.api.post('/uploads/{slide_id}/parts', {
      path: { slide_id: slideId },
      body: { parts: [part] },
      signal,
    });
    const [granted] = parts;
    if (!granted) throw new Error('The server granted no address for a part. Try again.');
    return granted;
  }

  complete(slideId: string, signal: AbortSignal): Promise<Slide> {
    return this.api.post('/uploads/{slide_id}/complete', { path: { slide_id: slideId }, signal });
  }

  abort(slideId: string): Promise<null> {
    return this.api.delete('/uploads/{slide_id}', { path: { slide_id: slideId } });
  }

  slide(slideId: string, signal: AbortSignal): Promise<Slide> {
    return this.api.get('/slides/{slide_id}', { path: { slide_id: slideId }, signal });
  }

  /** Slides of the organisation that are being uploaded. */
  async uploading(signal: AbortSignal): Promise<Slide[]> {
    const slides: Slide[] = [];
    let cursor: string | null = null;
    for (;;) {
      const page: Schema<'SlideList'> = await this.api.get('/slides', {
        query: { status: 'UPLOADING', cursor, limit: 100 },
        signal,
      });
      slides.push(...page.items);
      cursor = page.next_cursor;
      if (cursor === null) return slides;
    }
  }
}
