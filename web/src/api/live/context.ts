import { createContext } from 'react';
import type { Subscribe } from './push';

/** The subscription to pushed updates; null: jobs are polled instead. */
export const PushContext = createContext<Subscribe | null>(null);
