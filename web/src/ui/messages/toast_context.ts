import { createContext, use } from 'react';

export interface Toaster {
  showSuccess: (text: string) => void;
  showError: (text: string) => void;
}

export const ToastContext = createContext<Toaster | null>(null);

export function useToasts(): Toaster {
  const say = use(ToastContext);
  if (say === null) throw new Error('useToasts needs Toasts above it.');
  return say;
}
