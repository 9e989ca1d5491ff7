import { createContext } from 'react';
import type { Subscribe } from './push';

/** null where nothing is pushed: jobs are asked for then. */
export const PushContext = createContext<Subscribe | null>(null);
