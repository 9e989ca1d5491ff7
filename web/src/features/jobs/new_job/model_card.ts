/** A model's card: free-form in openapi.json, parsed here as far as the form shows it (docs/reference/models.md). */
import type { Model } from '../queries';

export interface ModelCard {
  description: string | null; // the model's purpose
  mpp: number | null; // µm per pixel of the training data
  range: readonly [number, number] | null; // µm per pixel of the slides that it was validated on
  enlarges: boolean; // accepts coarser slides without an option
  stain: string | null;
  organ: string | null;
  licence: string | null;
  isBuiltIn: boolean; // part of Tessera, under Tessera's licence
  columns: readonly string[];
  dimensions: number | null; // of a tile's vector
  classes: readonly string[] | null; // of the objects that it outlines
}

const readText = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? value : null);
const readNumber = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : null);
const readList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const readField = (value: unknown, name: string): unknown => (value as Record<string, unknown> | null | undefined)?.[name];

export function readCard({ card }: Pick<Model, 'card'>): ModelCard {
  const classes = readList(readField(card['objects'], 'classes')).flatMap((name) => readText(name) ?? []);
  const [finest, coarsest] = readList(card['mpp_range']).map(readNumber);
  return {
    description: readText(card['description']),
    mpp: readNumber(card['mpp']),
    range: finest != null && coarsest != null ? [finest, coarsest] : null,
    enlarges: card['allow_upsampling'] === true,
    stain: readText(card['stain']),
    organ: readText(card['organ']),
    licence: readText(card['licence']),
    isBuiltIn: card['kind'] === 'builtin',
    columns: readList(card['columns']).flatMap((column) => readText(readField(column, 'name')) ?? []),
    dimensions: readNumber(readField(card['embedding'], 'dimensions')),
    classes: classes.length > 0 ? classes : null,
  };
}

/** Return a key for one version of a model: "stain-density 1.0". */
export const modelKey = ({ name, version }: Pick<Model, 'name' | 'version'>): string => `${name} ${version}`;

/** Sort by name, each model's default version before its others. */
export function sortModels(models: readonly Model[]): Model[] {
  return [...models].sort(
    (one, other) =>
      one.name.localeCompare(other.name) ||
      Number(other.is_default) - Number(one.is_default) ||
      other.version.localeCompare(one.version, 'en', { numeric: true }),
  );
}
