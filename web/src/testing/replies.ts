/** Answers of the API that the tests of several features use. */
import type { Schema } from '../api/routes';
import type { Reply } from './fakes';

const makeMe = (subject: string, role: Schema<'Role'>): Reply => ({ body: { tenant: 't', subject, role } });

export const ME = makeMe('user:1', 'analyst');
export const ADMIN = makeMe('user:3', 'admin');
export const VIEWER = makeMe('user:2', 'viewer');

export const makePage = (items: readonly unknown[], next_cursor: string | null = null): Reply => ({
  body: { items, next_cursor },
});
