/** What a job found on a slide, as the viewer holds it: from its results, or from its finished shards while it runs. */
import type { ApiClient } from '../../api/client';
import type { Schema } from '../../api/routes';
import { readTiles } from './csv';
import { inflated, readNpz } from './npz';
import { type Column, type Grid, Scores } from './scores';

export type ResultFile = Schema<'ResultAnswer'>;
type Shard = Schema<'PartialShard'>;

export interface Outcome {
  columns: readonly Column[];
  scores: Scores;
  warnings: readonly string[];
  files: readonly ResultFile[]; // none while it runs
}

interface Summary {
  grid: Grid;
  model: { columns: Column[] };
  tiles: { inferred: number };
  unreadable: { minx: number; miny: number; reason: string }[];
  warnings: string[];
}

interface PlanFile {
  grid: Grid;
  card: { columns: Column[] };
  tiles: string; // base64 of zlib of little-endian int32: x, y of each tile's box
  warnings: string[];
}

export interface Plan {
  outcome: Outcome;
  origins: Int32Array; // x, y by tile number, level-0 px
}

async function fetched(url: string, signal: AbortSignal): Promise<Response> {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(`The store of results answered with status ${answer.status}. Try again.`);
  return answer;
}

export async function resultFiles(api: ApiClient, jobId: string, signal?: AbortSignal): Promise<readonly ResultFile[]> {
  const asked = { path: { job_id: jobId }, ...(signal ? { signal } : {}) };
  return (await api.get('/jobs/{job_id}/results', asked)).items;
}

/** A file of the results; null where the job has none of that name. */
export async function resultFile(api: ApiClient, jobId: string, name: string, signal: AbortSignal): Promise<Response | null> {
  const file = (await resultFiles(api, jobId, signal)).find((found) => found.name === name);
  return file ? fetched(file.url, signal) : null;
}

export async function finalOutcome(api: ApiClient, jobId: string, signal: AbortSignal): Promise<Outcome> {
  const files = await resultFiles(api, jobId, signal);
  const urlOf = (name: string) => {
    const file = files.find((found) => found.name === name);
    if (file === undefined) throw new Error(`The results of this job lack ${name}, so that nothing can be drawn.`);
    return file.url;
  };
  const summary = (await (await fetched(urlOf('summary.json'), signal)).json()) as Summary;
  const { columns } = summary.model;
  const scores = new Scores(summary.grid, columns.length, summary.tiles.inferred);
  const table = (await fetched(urlOf('tiles.csv'), signal)).body;
  if (table !== null) await readTiles(table, scores);
  for (const { minx, miny, reason } of summary.unreadable) scores.putUnreadable(minx, miny, reason);
  return { columns, scores, warnings: summary.warnings, files };
}

export async function readPlan(url: string, signal: AbortSignal): Promise<Plan> {
  const packed = new Uint8Array(await (await fetched(url, signal)).arrayBuffer());
  const file = JSON.parse(new TextDecoder().decode(await inflated(packed, 'gzip'))) as PlanFile;
  const tiles = Uint8Array.from(atob(file.tiles), (letter) => letter.charCodeAt(0));
  const { columns } = file.card;
  const origins = new Int32Array(await inflated(tiles, 'deflate'));
  const scores = new Scores(file.grid, columns.length, origins.length / 2);
  return { outcome: { columns, scores, warnings: file.warnings, files: [] }, origins };
}

/** Puts a finished shard's tiles where the plan says that they lie. */
export async function addShard(shard: Shard, { outcome, origins }: Plan, signal: AbortSignal): Promise<void> {
  const arrays = await readNpz(await (await fetched(shard.url, signal)).arrayBuffer());
  const [head, tiles, values] = ['head', 'tiles', 'scores'].map((name) => arrays.get(name)?.values);
  if (!head || !tiles || !values) throw new Error('The scores of a part of this job can not be read: reload the page.');
  const { unreadable } = JSON.parse(new TextDecoder().decode(head)) as { unreadable: Record<string, string> };
  const origin = (tile: number) => [origins[2 * tile] ?? NaN, origins[2 * tile + 1] ?? NaN] as const;
  tiles.forEach((tile, row) => {
    outcome.scores.put(...origin(tile), values, row * outcome.scores.width);
  });
  for (const [tile, reason] of Object.entries(unreadable)) outcome.scores.putUnreadable(...origin(Number(tile)), reason);
}
