/** The uploads' calls to the API. */
import type { ApiClient } from '../../../api/client';
import type { Schema } from '../../../api/routes';
import type { StatedValues } from '../../../ui/fields/stated_values';
import type { SlideToSend } from '../picking/slide_grouping';
import type { StoredPart } from './parts';

export type Slide = Schema<'SlideAnswer'>;

/** What the user states with an upload. */
export interface UploadOptions extends StatedValues {
  deidentify: boolean; // remove label and identifiers
}

export const NO_OPTIONS: UploadOptions = { mpp: null, optical_path: null, focal_plane: null, picture: null, deidentify: false };

export class UploadServer {
  constructor(private readonly api: ApiClient) {}

  async begin({ files }: SlideToSend, options: UploadOptions): Promise<string> {
    const opened = await this.api.post('/uploads', {
      body: { files: files.map(({ name, file }) => ({ name, size: file.size })), ...options },
    });
    return opened.slide_id;
  }

  /** List all uploaded parts, with the size of a part. */
  async listParts(slideId: string, signal: AbortSignal): Promise<{ partSize: number; parts: StoredPart[] }> {
    const parts: StoredPart[] = [];
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

  /** Request an address for one part. It accepts only these bytes, and expires after 15 minutes. */
  async grant(slideId: string, part: Schema<'PartToUpload'>, signal: AbortSignal): Promise<Schema<'GrantedPart'>> {
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

  readSlide(slideId: string, signal: AbortSignal): Promise<Slide> {
    return this.api.get('/slides/{slide_id}', { path: { slide_id: slideId }, signal });
  }

  /** List the organisation's slides that are being uploaded. */
  async listUploading(signal: AbortSignal): Promise<Slide[]> {
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
