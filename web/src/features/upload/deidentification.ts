/** Whether slides from this browser are de-identified, as it was last set here. */
const KEY = 'tessera.deidentify';

export const isDeidentifying = (): boolean => localStorage.getItem(KEY) === 'yes';

export function rememberDeidentifying(isWanted: boolean): void {
  if (isWanted) localStorage.setItem(KEY, 'yes');
  else localStorage.removeItem(KEY);
}
