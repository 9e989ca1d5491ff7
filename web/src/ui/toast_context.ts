import { createContext, use } from 'react';

export interface Say {
  done: (text: string) => void;
  failed: (text: string) => void;
}

export const ToastContext = createContext<Say | null>(null);

export function useToasts(): Say {
  const say = use(ToastContext);
  if (say === null) throw new Error('useToasts needs Toasts above it.');
  return say;
}
