/** Formats numbers, sizes, durations and times. */

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const;

/** Return "3.2 GB", in powers of 1000, like file managers. */
export function formatBytes(count: number): string {
  const power = count < 1000 ? 0 : Math.min(Math.floor(Math.log10(count) / 3), UNITS.length - 1);
  const value = count / 1000 ** power;
  return `${formatNumber(value, power === 0 || value >= 100 ? 0 : 1)} ${UNITS[power] ?? ''}`;
}

export function formatNumber(value: number, digits = 0): string {
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}

/** Return "$0.04", or "less than $0.01". */
export function formatMoney(dollars: number): string {
  if (dollars === 0) return '$0';
  return dollars < 0.01 ? 'less than $0.01' : `$${dollars.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** Return a duration in seconds as "45 s", "3 min" or "2 h 10 min". */
export function formatDuration(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Return a time in the user's time zone: "28 Nov 2026, 14:03". */
export function formatMoment(iso: string): string {
  return new Date(iso).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
}

/** Return "a, b and c". */
export function joinWords(words: readonly string[]): string {
  return new Intl.ListFormat('en-GB', { type: 'conjunction' }).format(words);
}
