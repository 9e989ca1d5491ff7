/** A model's card: free-form in openapi.json, read here as far as the form shows it (docs/models.md). */
import type { Model } from './jobs';

export interface Card {
  description: string | null; // what it is for
  mpp: number | null; // µm a pixel that it was trained at
  range: readonly [number, number] | null; // µm a pixel of the slides that it was found to hold for
  enlarges: boolean; // takes coarser slides by itself
  stain: string | null;
  organ: string | null;
  licence: string | null;
  isBuiltIn: boolean; // a part of Tessera, under whose licence it is
  columns: readonly string[];
  isMeasured: boolean; // its speed is known; otherwise estimates take it for a slow one
}

const text = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? value : null);
const amount = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : null);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export function cardOf({ card }: Pick<Model, 'card'>): Card {
  const [finest, coarsest] = list(card['mpp_range']).map(amount);
  return {
    description: text(card['description']),
    mpp: amount(card['mpp']),
    range: finest != null && coarsest != null ? [finest, coarsest] : null,
    enlarges: card['allow_upsampling'] === true,
    stain: text(card['stain']),
    organ: text(card['organ']),
    licence: text(card['licence']),
    isBuiltIn: card['kind'] === 'builtin',
    columns: list(card['columns']).flatMap((column) => text((column as { name?: unknown } | null)?.name) ?? []),
    isMeasured: amount(card['tiles_per_second']) !== null,
  };
}

/** Of a model's versions: "stain-density 1.0". */
export const keyOf = ({ name, version }: Pick<Model, 'name' | 'version'>): string => `${name} ${version}`;

/** By name, the version that a job takes by itself before its others. */
export function ordered(models: readonly Model[]): Model[] {
  return [...models].sort(
    (one, other) =>
      one.name.localeCompare(other.name) ||
      Number(other.is_default) - Number(one.is_default) ||
      other.version.localeCompare(one.version, 'en', { numeric: true }),
  );
}
